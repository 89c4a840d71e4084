import { afterEach, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import {
  content,
  follow,
  hasRemoteSources,
  idsOf,
  INBOX_STORES,
  readPage,
  startStack,
  user,
  walkFeed,
  type Line,
  type Page,
  type Stack,
} from '../harness/stack.js';

type SecondsEntry = readonly [contentId: string, publishSeconds: number];

interface WorkedExample {
  readonly viewer: string;
  readonly following: readonly string[];
  readonly pulledAuthors: readonly string[];
  readonly outboxes: Readonly<Record<string, readonly SecondsEntry[]>>;
  readonly inbox: readonly SecondsEntry[];
  readonly pageSize: number;
  readonly pages: readonly (readonly SecondsEntry[])[];
}

interface InboxTies {
  readonly userId: string;
  readonly entries: readonly SecondsEntry[];
  readonly pageSize: number;
  readonly pages: readonly (readonly string[])[];
}

const readFixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../fixtures/${name}.json`, import.meta.url), 'utf8'));
const example = readFixture('worked-example') as WorkedExample;
const ties = readFixture('inbox-ties') as InboxTies;

const DAY_MS = 86_400_000;
/** After every post of the vectors. */
const START_MS = 1_700_000_000_000;
const THRESHOLD = 3;

const postsOf = (author: string, entries: readonly SecondsEntry[]): Line[] =>
  entries.map(([id, seconds]) => content(id, author, 1_000 * seconds));

const { viewer, pulledAuthors, pages } = example;
const ordinaryAuthors = example.following.filter((id) => !pulledAuthors.includes(id));
const fillers = Array.from({ length: THRESHOLD }, (_, i) => String(9_001 + i));

/** The pulled authors have the viewer and all fillers as followers, the others the viewer alone. */
const people: Line[] = [
  ...[viewer, ...example.following, ...fillers].map((id) => user(id, { lastActiveAt: START_MS })),
  ...example.following.map((id) => follow(viewer, id)),
  ...pulledAuthors.flatMap((author) => fillers.map((filler) => follow(filler, author))),
];
const posts: Line[] = [
  ...pulledAuthors.flatMap((author) => postsOf(author, example.outboxes[author]!)),
  ...example.inbox.flatMap((entry, i) => postsOf(ordinaryAuthors[i % ordinaryAuthors.length]!, [entry])),
];

const now = { ms: START_MS };
let stack: Stack | undefined;
afterEach(async () => {
  await stack?.close();
  stack = undefined;
});

async function start(store: string, mode: string): Promise<Stack> {
  now.ms = START_MS;
  const settings = { INBOX_STORE: store, FEED_MODE: mode, FANOUT_PUSH_THRESHOLD: String(THRESHOLD) };
  stack = await startStack(settings, { clock: () => now.ms });
  return stack;
}

const entriesOf = (page: Page) =>
  page.edges.map(({ node }) => [node.contentId, Date.parse(node.publishTime) / 1_000] as const);

const newestFirst = (entries: readonly SecondsEntry[]): SecondsEntry[] =>
  [...entries].sort(([a, at], [b, bt]) => bt - at || Number(BigInt(b) - BigInt(a)));

/** The pages of the vector downwards, upwards, and what the pill counts at each of their posts. */
async function expectPages(on: Stack): Promise<void> {
  const down = await walkFeed(on, viewer, example.pageSize);
  expect(down.map(entriesOf)).toEqual(pages);
  for (const [i, page] of down.entries()) {
    expect(page).toMatchObject({ isComplete: true, emptyReason: null });
    expect(page.pageInfo).toEqual({
      hasNextPage: i < pages.length - 1,
      hasPreviousPage: i > 0,
      startCursor: page.edges[0]!.cursor,
      endCursor: page.edges.at(-1)!.cursor,
    });
  }

  let before = down.at(-1)!.pageInfo.startCursor;
  for (let i = pages.length - 2; i >= 0; i -= 1) {
    const page = await readPage(on, viewer, { last: example.pageSize, before });
    expect(page.edges).toEqual(down[i]!.edges);
    expect(page.pageInfo).toEqual({ ...down[i]!.pageInfo, hasNextPage: true });
    before = page.pageInfo.startCursor;
  }
  expect(await readPage(on, viewer, { last: example.pageSize, before })).toMatchObject({
    edges: [],
    emptyReason: 'END_OF_FEED',
    pageInfo: { hasNextPage: true, hasPreviousPage: false },
  });

  const cursors = down.flatMap((page) => page.edges.map(({ cursor }) => cursor));
  for (const [i, than] of cursors.entries()) {
    const { all, some } = await on.ask(
      viewer,
      'query ($than: String!) { all: timelineNewer(than: $than) { count hasMore } some: timelineNewer(than: $than, limit: 5) { count hasMore } }',
      { than },
    );
    expect(all).toEqual({ count: i, hasMore: false });
    expect(some).toEqual({ count: Math.min(5, i), hasMore: i > 5 });
  }
}

describe.each(INBOX_STORES)('on %s', (store) => {
  describe.each(hasRemoteSources ? ['hybrid'] : ['hybrid', 'push', 'pull'])('in mode %s', (mode) => {
    test('the worked example, imported without delivery, gives its pages exactly', async () => {
      const on = await start(store, mode);
      await on.importAll([...people, ...posts]);
      await expectPages(on);
      await on.drain();
      expect((await on.inboxOf(viewer))?.length).toBe(mode === 'pull' ? undefined : pages.flat().length);
      await expectPages(on);
    });

    test('the worked example, delivered while its viewer was away, gives its pages exactly', async () => {
      const on = await start(store, mode);
      await on.importAll(people);
      const [active] = fillers;
      for (const reader of [viewer, active!]) {
        expect(await readPage(on, reader)).toMatchObject({ edges: [], emptyReason: 'NO_POSTS' });
      }
      await on.drain();
      expect(await on.inboxOf(viewer)).toEqual(mode === 'pull' ? null : []);

      now.ms += 8 * DAY_MS;
      await readPage(on, active!);
      await on.drain();
      await on.importAll(posts, { deliver: true });
      await on.drain();

      const pushed = { hybrid: example.inbox, push: pages.flat(), pull: undefined }[mode];
      const held = (await on.inboxOf(viewer))?.map((entry) => [String(entry.contentId), entry.publishTime / 1_000]);
      expect(held).toEqual(pushed && newestFirst(pushed));
      const pulled = pulledAuthors.flatMap((author) => example.outboxes[author]!);
      expect((await on.inboxOf(active!))?.map((entry) => String(entry.contentId))).toEqual(
        mode === 'pull' ? undefined : newestFirst(pulled).map(([id]) => id),
      );
      const modes = await on.app.database.pool.query<{ author_id: string; mode: string }>(
        'SELECT DISTINCT author_id, mode FROM fanouts ORDER BY author_id',
      );
      const modeOf = (author: string) =>
        mode === 'pull'
          ? 'NOBODY'
          : mode === 'hybrid' && pulledAuthors.includes(author)
            ? 'ACTIVE_FOLLOWERS'
            : 'ALL_FOLLOWERS';
      expect(modes.rows).toEqual(example.following.map((id) => ({ author_id: id, mode: modeOf(id) })));

      await expectPages(on);
      await on.drain();
      await expectPages(on);
    });
  });

  test.each(['imported', 'delivered'])(
    'posts that share a time, %s, come in the numeric order of their ids',
    async (way) => {
      const on = await start(store, 'hybrid');
      const reader = ties.userId;
      await on.importAll([user(reader, { lastActiveAt: START_MS }), user('222'), follow(reader, '222')]);
      await readPage(on, reader);
      await on.drain();
      await on.importAll(postsOf('222', ties.entries), { deliver: way === 'delivered' });
      for (const phase of ['at once', 'after delivery or rebuild']) {
        const walk = await walkFeed(on, reader, ties.pageSize);
        expect({ phase, pages: walk.map(idsOf) }).toEqual({ phase, pages: ties.pages });
        await on.drain();
      }
      const held = await on.inboxOf(reader);
      expect(held?.map((entry) => String(entry.contentId))).toEqual(ties.pages.flat());
    },
  );
});
