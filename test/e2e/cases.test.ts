import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { oracleFeed } from '../harness/oracle.js';
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
  type Stack,
} from '../harness/stack.js';

const DAY_MS = 86_400_000;
const INBOX_MAX = 20;
const THRESHOLD = 3;
/** In the past, one millisecond a post unless a test says otherwise. */
const T0 = 1_700_000_000_000;

/** The clock of the product: the real one, and ahead of it by what the tests have skipped. */
let skippedMs = 0;
const clock = (): number => Date.now() + skippedMs;
let stack: Stack;

/** Users of one test, all known to the product. Ids are never used twice. */
let usersMade = 1_000;
async function someUsers(count: number, more: Line = {}): Promise<string[]> {
  const ids = Array.from({ length: count }, () => String((usersMade += 1)));
  await stack.importAll(ids.map((id) => user(id, more)));
  return ids;
}

let contentsMade = 0;
const nextId = (): string => String((contentsMade += 1));
const posts = (author: string, count: number, from: number, more: Line = {}): Line[] =>
  Array.from({ length: count }, (_, i) => content(nextId(), author, from + i, more));

const setFollow = (userId: string, followee: string, following = true) =>
  stack.ask(
    userId,
    'mutation ($id: ID!, $following: Boolean!) { setFollow(input: { userId: $id, following: $following }) { user { userId } } }',
    {
      id: followee,
      following,
    },
  );
const setBlock = (userId: string, other: string, blocked = true) =>
  stack.ask(
    userId,
    'mutation ($id: ID!, $blocked: Boolean!) { setBlock(input: { userId: $id, blocked: $blocked }) { user { userId } } }',
    {
      id: other,
      blocked,
    },
  );
const publish = async (author: string, input: object = {}): Promise<string> =>
  (
    await stack.ask(
      author,
      'mutation ($input: PublishContentInput!) { publishContent(input: $input) { content { contentId } } }',
      {
        input: { text: 'Good morning', ...input },
      },
    )
  ).publishContent.content.contentId;
const remove = (author: string, contentId: string) =>
  stack.ask(author, 'mutation ($id: ID!) { deleteContent(input: { contentId: $id }) { contentId } }', {
    id: contentId,
  });
const setVisibility = (author: string, contentId: string, visibility: string) =>
  stack.ask(
    author,
    'mutation ($id: ID!, $visibility: Visibility!) { setVisibility(input: { contentId: $id, visibility: $visibility }) { content { visibility } } }',
    { id: contentId, visibility },
  );
const canOpen = async (userId: string, contentId: string): Promise<boolean> =>
  (await stack.ask(userId, 'query ($id: ID!) { content(contentId: $id) { text } }', { id: contentId })).content !==
  null;
const feedOf = async (reader: string): Promise<string[]> => (await walkFeed(stack, reader, 7)).flatMap(idsOf);

/** The reader's walk equals the definition of a feed. */
async function expectWhole(reader: string): Promise<void> {
  const wanted = await oracleFeed(stack.app.database.pool, BigInt(reader), clock());
  expect(await feedOf(reader)).toEqual(wanted.map((entry) => String(entry.contentId)));
}

/** Has read before, so that there is an inbox to push to. */
async function someReader(...followees: string[]): Promise<string> {
  const [reader] = (await someUsers(1)) as [string];
  await stack.importAll(followees.map((followee) => follow(reader, followee)));
  await readPage(stack, reader);
  await stack.drain();
  return reader;
}

describe.each(INBOX_STORES)('on %s', (store) => {
  const settings = {
    INBOX_STORE: store,
    INBOX_MAX_ENTRIES: String(INBOX_MAX),
    FANOUT_PUSH_THRESHOLD: String(THRESHOLD),
    FANOUT_CHUNK_SIZE: '2',
    FANOUT_BATCH_SIZE: '1',
    SCAN_BUDGET: '30',
  };
  beforeAll(async () => {
    stack = await startStack(settings, { clock });
  });
  afterAll(() => stack.close());

  describe('missing posts', () => {
    test('a reader who was away for weeks comes back to a full first page with what was posted meanwhile', async () => {
      const [ann, bob] = (await someUsers(2)) as [string, string];
      const reader = await someReader(ann, bob);
      for (const days of [10, 40]) {
        const before = await publish(ann);
        await stack.drain();
        skippedMs += days * DAY_MS;
        const meanwhile: string[] = [];
        for (let i = 0; i < 6; i += 1) meanwhile.unshift(await publish(i % 2 ? ann : bob));
        await stack.drain();
        const page = await readPage(stack, reader, { first: 7 });
        expect(idsOf(page)).toEqual([...meanwhile, before]);
        await expectWhole(reader);
        await stack.drain();
        await expectWhole(reader);
      }
    });

    test('a page whose newest 100 candidates are all filtered is filled from deeper', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      const seen = posts(ann, 5, T0);
      await stack.importAll([...seen, ...posts(ann, 100, T0 + 10, { visibility: 'PRIVATE' })]);
      const page = await readPage(stack, reader, { first: 5 });
      expect(idsOf(page)).toEqual(seen.map((line) => line['id']).reverse());
      expect(page.pageInfo.hasNextPage).toBe(false);
      await expectWhole(reader);
    });

    test('a returning reader who follows two new people before reading has the history of old and new follows', async () => {
      const [ann, bob, cem] = (await someUsers(3)) as [string, string, string];
      await stack.importAll([...posts(bob, 4, T0), ...posts(cem, 4, T0 + 2)]);
      const reader = await someReader(ann);
      await publish(ann);
      skippedMs += 20 * DAY_MS;
      await publish(ann);
      await setFollow(reader, bob);
      await setFollow(reader, cem);
      expect(await feedOf(reader)).toHaveLength(10);
      await expectWhole(reader);
      await stack.drain();
      await expectWhole(reader);
    });

    test('more unread posts than an inbox holds are all reached by scrolling, also of a new and shallow follow', async () => {
      const [ann, bob] = (await someUsers(2)) as [string, string];
      const reader = await someReader(ann);
      await stack.importAll(posts(ann, 3 * INBOX_MAX, T0), { deliver: true });
      await stack.drain();
      expect(await stack.inboxOf(reader)).toHaveLength(INBOX_MAX);
      expect(await feedOf(reader)).toHaveLength(3 * INBOX_MAX);
      await stack.importAll(posts(bob, 2, T0 - 50));
      await setFollow(reader, bob);
      expect(await feedOf(reader)).toHaveLength(3 * INBOX_MAX + 2);
      await expectWhole(reader);
      await stack.drain();
      await expectWhole(reader);
    });

    test('push off, then on, then off, then on, five posts in each stretch: all twenty are read', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      const published: string[] = [];
      for (const mode of ['pull', 'push', 'pull', 'hybrid']) {
        await stack.restart({ FEED_MODE: mode });
        for (let i = 0; i < 5; i += 1) published.unshift(await publish(ann));
        if (mode !== 'push') await stack.drain();
        expect(await feedOf(reader)).toEqual(published);
      }
      await stack.drain();
      expect(await feedOf(reader)).toEqual(published);
    });

    test('posts published right before all processes end are there after the start', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      const published = [await publish(ann), await publish(ann)].reverse();
      await stack.restart();
      expect(await feedOf(reader)).toEqual(published);
      await stack.drain();
      expect((await stack.inboxOf(reader))?.map((entry) => String(entry.contentId))).toEqual(published);
    });

    test('asked for what is right above a cursor older than the whole inbox, a page holds the immediate successors', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      await stack.importAll(posts(ann, 3 * INBOX_MAX, T0), { deliver: true });
      await stack.drain();
      const all = (await walkFeed(stack, reader, 50)).flatMap((page) => page.edges);
      const page = await readPage(stack, reader, { last: 3, before: all[50]!.cursor });
      expect(page.edges).toEqual(all.slice(47, 50));
      expect(page.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
    });
  });

  describe('order', () => {
    test('ids above 2^53 at one millisecond keep their numeric order and none is lost at a page edge', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      const ids = ['18446744073709551614', '9007199254740994', '9007199254740993', '9007199254740992', '10', '9'];
      await stack.importAll(
        ids.map((id) => content(id.length < 3 ? `90000${id.padStart(2, '0')}` : id, ann, T0)),
        { deliver: true },
      );
      const wanted = [...ids.slice(0, 4), '9000010', '9000009'];
      for (let phase = 0; phase < 2; phase += 1) {
        expect((await walkFeed(stack, reader, 1)).flatMap(idsOf)).toEqual(wanted);
        await stack.drain();
      }
    });

    test('an old post that is delivered late stands at its publish time', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      await stack.importAll([content('500001', ann, T0 + 1), content('500003', ann, T0 + 3)], { deliver: true });
      await stack.drain();
      await stack.importAll([content('500002', ann, T0 + 2)], { deliver: true });
      for (let phase = 0; phase < 2; phase += 1) {
        expect(await feedOf(reader)).toEqual(['500003', '500002', '500001']);
        await stack.drain();
      }
    });

    test('a post dated in the future is hidden until its time has come', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      const old = await publish(ann);
      const at = clock() + 3_600_000;
      await stack.importAll([content('600001', ann, at)], { deliver: true });
      await stack.drain();
      expect(await feedOf(reader)).toEqual([old]);
      expect(await canOpen(reader, '600001')).toBe(false);
      skippedMs += 3_500_000;
      expect(await feedOf(reader)).toEqual([old]);
      skippedMs += 100_000;
      expect(await feedOf(reader)).toEqual(['600001', old]);
      expect(await canOpen(reader, '600001')).toBe(true);
    });

    test('an author who crosses the threshold of big accounts both ways while a reader scrolls: no skip, no repeat', async () => {
      const [ann, ...crowd] = (await someUsers(THRESHOLD + 2)) as [string, ...string[]];
      const reader = await someReader(ann);
      const scrolled: string[] = [];
      for (let i = 0; i < 6; i += 1) await publish(ann);
      await stack.drain();
      const wanted = await feedOf(reader);
      let after: string | null = null;
      for (const isBig of [true, false, true]) {
        const page = await readPage(stack, reader, { first: 2, after });
        scrolled.push(...idsOf(page));
        after = page.pageInfo.endCursor;
        for (const follower of crowd) await setFollow(follower, ann, isBig);
        const contentId = await publish(ann);
        await stack.drain();
        expect(
          (await stack.ask(ann, 'query ($id: ID!) { fanout(contentId: $id) { mode } }', { id: contentId })).fanout.mode,
        ).toBe(isBig ? 'ACTIVE_FOLLOWERS' : 'ALL_FOLLOWERS');
      }
      expect(scrolled).toEqual(wanted);
      await expectWhole(reader);
    });
  });

  describe('cursors', () => {
    test('a cursor goes on after a day, after its post is deleted, after a restart and in every mode and store', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      await stack.importAll(posts(ann, 8, T0), { deliver: true });
      const edges = (await readPage(stack, reader, { first: 8 })).edges;
      const { cursor } = edges[2]!;
      const wanted = edges.slice(3, 6).map(({ node }) => node.contentId);
      const expectSame = async () => {
        expect(idsOf(await readPage(stack, reader, { first: 3, after: cursor }))).toEqual(wanted);
        await stack.drain();
        expect(idsOf(await readPage(stack, reader, { first: 3, after: cursor }))).toEqual(wanted);
      };
      skippedMs += DAY_MS;
      await publish(ann);
      await expectSame();
      await remove(ann, edges[2]!.node.contentId);
      await expectSame();
      await stack.restart({ FEED_MODE: 'pull' });
      await expectSame();
      await stack.restart({ FEED_MODE: 'hybrid', INBOX_STORE: store === 'postgres' ? 'redis-zset' : 'postgres' });
      await expectSame();
      await stack.restart({ INBOX_STORE: store });
      await expectSame();
    });

    test('a post that is gone from the authority is passed over, and the feed goes on past it', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      const [a, b, c] = [await publish(ann), await publish(ann), await publish(ann)];
      await stack.drain();
      await stack.app.database.pool.query('DELETE FROM contents WHERE id = $1', [b]);
      expect(idsOf(await readPage(stack, reader, { first: 2 }))).toEqual([c, a]);
    });

    test('exactly one post: no error, no next page, none before', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      const only = await publish(ann);
      for (const first of [1, 20]) {
        const page = await readPage(stack, reader, { first });
        expect(idsOf(page)).toEqual([only]);
        expect(page).toMatchObject({ emptyReason: null, pageInfo: { hasNextPage: false, hasPreviousPage: false } });
      }
    });

    test('an empty page says why', async () => {
      const [ann, loner] = (await someUsers(2)) as [string, string];
      const reader = await someReader(ann);
      const reasonOf = async (who: string, args = {}) => {
        const { edges, emptyReason, isComplete, pageInfo } = await readPage(stack, who, args);
        return [edges.length, emptyReason, isComplete, pageInfo.hasNextPage];
      };
      expect(await reasonOf(loner)).toEqual([0, 'NO_FOLLOWING', true, false]);
      expect(await reasonOf('999999999')).toEqual([0, 'NO_FOLLOWING', true, false]);
      expect(await reasonOf(reader)).toEqual([0, 'NO_POSTS', true, false]);
      const contentId = await publish(ann, { visibility: 'PRIVATE' });
      expect(await reasonOf(reader)).toEqual([0, 'NO_POSTS', true, false]);
      await setVisibility(ann, contentId, 'PUBLIC');
      expect(await reasonOf(reader, { first: 0 })).toEqual([0, 'NOTHING_REQUESTED', true, true]);
      const { edges } = await readPage(stack, reader);
      expect(await reasonOf(reader, { first: 5, after: edges[0]!.cursor })).toEqual([0, 'END_OF_FEED', true, false]);
      expect(await reasonOf(reader, { last: 5, before: edges[0]!.cursor })).toEqual([0, 'END_OF_FEED', true, true]);
    });
  });

  describe('visibility', () => {
    test('a deleted post is gone at the next read, whatever the inbox holds, and stays gone', async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      const [a, b] = [await publish(ann), await publish(ann)];
      await stack.drain();
      expect(await feedOf(reader)).toEqual([b, a]);
      await remove(ann, b);
      expect(await feedOf(reader)).toEqual([a]);
      expect(await canOpen(reader, b)).toBe(false);
      await stack.drain();
      expect((await stack.inboxOf(reader))?.map((entry) => String(entry.contentId))).toEqual([a]);
      expect(
        await stack.codeOf(ann, 'mutation ($id: ID!) { deleteContent(input: { contentId: $id }) { contentId } }', {
          id: b,
        }),
      ).toBe('none');
    });

    test('posts deleted while they are being delivered are absent in the end', async () => {
      const [ann, ...crowd] = (await someUsers(4)) as [string, ...string[]];
      const reader = await someReader(ann);
      for (const follower of crowd) await setFollow(follower, ann);
      const race = async () => {
        const contentId = await publish(ann);
        await remove(ann, contentId);
      };
      await Promise.all(Array.from({ length: 12 }, race));
      expect(await feedOf(reader)).toEqual([]);
      await stack.drain();
      expect(await readPage(stack, reader)).toMatchObject({ edges: [], emptyReason: 'NO_POSTS' });
    });

    test('after an unfollow the history is gone at the next read; after following again it is back', async () => {
      const [ann, bob] = (await someUsers(2)) as [string, string];
      const reader = await someReader(ann, bob);
      const [a, b] = [await publish(ann), await publish(bob)];
      await stack.drain();
      expect(await feedOf(reader)).toEqual([b, a]);
      for (let round = 0; round < 3; round += 1) {
        await setFollow(reader, bob, false);
        expect(await feedOf(reader)).toEqual([a]);
        if (round > 0) await stack.drain();
        await setFollow(reader, bob);
        expect(await feedOf(reader)).toEqual([b, a]);
        if (round > 1) await stack.drain();
      }
      await expectWhole(reader);
    });

    test.each(['reader', 'author'])(
      'a block by the %s hides both ways, and reposts by others of what the other wrote',
      async (by) => {
        const [ann, bob] = (await someUsers(2)) as [string, string];
        const reader = await someReader(ann, bob);
        const original = await publish(ann);
        const repost = await publish(bob, { text: '', repostOfContentId: original });
        const quote = await publish(bob, { text: 'See this', repostOfContentId: original });
        const own = await publish(bob);
        await stack.drain();
        expect(await feedOf(reader)).toEqual([own, quote, repost, original]);
        const [blocker, blocked] = by === 'reader' ? [reader, ann] : [ann, reader];
        await setBlock(blocker, blocked);
        expect(await feedOf(reader)).toEqual([own]);
        for (const id of [original, repost, quote]) expect(await canOpen(reader, id)).toBe(false);
        expect(
          await stack.codeOf(
            reader,
            'mutation ($id: ID!) { setFollow(input: { userId: $id, following: true }) { user { userId } } }',
            { id: ann },
          ),
        ).toBe('FORBIDDEN');
        await stack.drain();
        expect(await feedOf(reader)).toEqual([own]);
        await setBlock(blocker, blocked, false);
        // The block has ended the follow; what bob reposted may be seen again.
        expect(await feedOf(reader)).toEqual([own, quote, repost]);
        await setFollow(reader, ann);
        expect(await feedOf(reader)).toEqual([own, quote, repost, original]);
      },
    );

    test('FOLLOWERS posts are for who follows now, also through a repost; PRIVATE ones for nobody else', async () => {
      const [ann, bob, stranger] = (await someUsers(3)) as [string, string, string];
      const reader = await someReader(ann, bob);
      await setFollow(stranger, bob);
      await setFollow(bob, ann);
      const forFollowers = await publish(ann, { visibility: 'FOLLOWERS' });
      const secret = await publish(ann, { visibility: 'PRIVATE' });
      const repost = await publish(bob, { text: '', repostOfContentId: forFollowers });
      expect(await feedOf(reader)).toEqual([repost, forFollowers]);
      expect(await feedOf(stranger)).toEqual([]);
      for (const [who, mayOpen] of [
        [ann, [true, true]],
        [reader, [true, false]],
        [stranger, [false, false]],
      ] as const) {
        expect([await canOpen(who, forFollowers), await canOpen(who, secret)]).toEqual(mayOpen);
      }
      await setFollow(reader, ann, false);
      expect(await feedOf(reader)).toEqual([]);
      await setFollow(reader, ann);
      await setVisibility(ann, forFollowers, 'PRIVATE');
      expect(await feedOf(reader)).toEqual([]);
      await setVisibility(ann, secret, 'PUBLIC');
      expect(await feedOf(reader)).toEqual([secret]);
      await stack.drain();
      await setVisibility(ann, forFollowers, 'PUBLIC');
      expect(await feedOf(stranger)).toEqual([repost]);
      await expectWhole(reader);
    });

    test('the repost of a deleted post is gone: no crash, no ghost', async () => {
      const [ann, bob] = (await someUsers(2)) as [string, string];
      const reader = await someReader(bob);
      const original = await publish(ann);
      const repost = await publish(bob, { text: '', repostOfContentId: original });
      const REPOSTS =
        '{ timelineFeed { edges { node { contentId repostOf { contentId text author { userId } } } } emptyReason } }';
      expect((await stack.ask(reader, REPOSTS)).timelineFeed.edges).toEqual([
        {
          node: { contentId: repost, repostOf: { contentId: original, text: 'Good morning', author: { userId: ann } } },
        },
      ]);
      await stack.drain();
      await remove(ann, original);
      expect((await stack.ask(reader, REPOSTS)).timelineFeed).toEqual({ edges: [], emptyReason: 'NO_POSTS' });
      expect(
        await stack.codeOf(
          bob,
          'mutation ($id: ID!) { publishContent(input: { text: "", repostOfContentId: $id }) { content { id } } }',
          { id: original },
        ),
      ).toBe('NOT_FOUND');
    });
  });

  describe('publishing', () => {
    test('the same idempotency key by the same author gives the same post, also of ten requests at once', async () => {
      const [ann, bob] = (await someUsers(2)) as [string, string];
      const reader = await someReader(ann, bob);
      const before = await stack.countAll();
      const ids = await Promise.all(Array.from({ length: 10 }, () => publish(ann, { idempotencyKey: 'once' })));
      const again = await publish(ann, { text: 'Something else', idempotencyKey: 'once' });
      expect(new Set([...ids, again]).size).toBe(1);
      const other = await publish(bob, { idempotencyKey: 'once' });
      expect(await feedOf(reader)).toEqual([other, again]);
      const after = await stack.countAll();
      expect([after['contents']! - before['contents']!, after['events']! - before['events']!]).toEqual([2, 2]);
    });

    test('fanout(contentId) goes to DONE with all followers counted; its author and admins may ask', async () => {
      const [ann, idle, ...crowd] = (await someUsers(8)) as [string, string, ...string[]];
      await stack.importAll([ann, ...crowd].map((id) => ({ ...user(id), lastActiveAt: clock() })));
      await stack.importAll([...crowd, idle].map((id) => follow(id, ann)));
      const contentId = await publish(ann);
      const FANOUT = `query ($id: ID!) { fanout(contentId: $id) {
        contentId state mode targetCount isPlanned deliveredCount taskCount finishedTaskCount startedAt finishedAt } }`;
      const { state, finishedTaskCount, taskCount } = (await stack.ask(ann, FANOUT, { id: contentId })).fanout;
      expect(['PENDING', 'RUNNING', 'DONE']).toContain(state);
      expect(finishedTaskCount).toBeLessThanOrEqual(taskCount);
      await stack.drain();
      const done = (await stack.ask(ann, FANOUT, { id: contentId })).fanout;
      expect(done).toMatchObject({
        contentId,
        state: 'DONE',
        mode: 'ACTIVE_FOLLOWERS',
        targetCount: 6,
        deliveredCount: 6,
        isPlanned: true,
        taskCount: 3,
        finishedTaskCount: 3,
      });
      expect(Date.parse(done.finishedAt)).toBeGreaterThanOrEqual(Date.parse(done.startedAt));
      const { body } = await stack.post(FANOUT, { id: contentId }, await stack.tokenFor(idle, { admin: true }));
      expect(body.data?.['fanout']).toEqual(done);
      expect(await stack.codeOf(idle, FANOUT, { id: contentId })).toBe('FORBIDDEN');
    });

    test("a reader's own posts are left out", async () => {
      const [ann] = (await someUsers(1)) as [string];
      const reader = await someReader(ann);
      await publish(reader);
      const other = await publish(ann);
      expect(await feedOf(reader)).toEqual([other]);
    });
  });
});

describe('cost', () => {
  const DETAILS = `query ($first: Int) { timelineFeed(first: $first) { edges { cursor node {
    id contentId text media { url } publishTime visibility viewerHasLiked
    author { userId handle displayName avatarUrl } counters { likes comments reposts favorites } } }
    pageInfo { hasNextPage hasPreviousPage } emptyReason isComplete } }`;
  const ACROSS = `query ($first: Int) { timelineFeed(first: $first) { edges { node {
    text author { handle followerCount viewerIsFollowing }
    repostOf { text author { handle } counters { likes } } } } } }`;
  let reader: string;

  beforeAll(async () => {
    // Nothing is held, so that what a page costs is not hidden by what another one has looked up.
    stack = await startStack({ CONTENT_CACHE_BYTES: '0' }, { clock });
    const authors = await someUsers(10);
    reader = await someReader(...authors);
    const originals = authors.flatMap((author, i) => posts(author, 3, T0 + 10 * i));
    const reposts = originals.flatMap((original, i) =>
      posts(authors[i % 10]!, 1, T0 + 1_000 + i, { text: '', repostOf: original['id'] }),
    );
    await stack.importAll([...originals, ...reposts]);
    await readPage(stack, reader);
    await stack.drain();
  });
  afterAll(() => stack.close());

  /** The statements of one page, sorted, without those of the relay and of the counters' upkeep. */
  async function statementsOf(query: string, first: number): Promise<string[]> {
    const { pool } = stack.app.database;
    const original = pool.query.bind(pool) as (...args: unknown[]) => unknown;
    const names: string[] = [];
    pool.query = ((...args: [{ name?: string }]) => {
      names.push(args[0].name ?? 'unnamed');
      return original(...args);
    }) as typeof pool.query;
    try {
      expect((await stack.ask(reader, query, { first })).timelineFeed.edges).toHaveLength(first);
    } finally {
      Reflect.deleteProperty(pool, 'query');
    }
    return names.filter((name) => !/^(events|counter)_/.test(name)).sort();
  }

  test('a page of 50 costs one statement each for reader, inbox, visibility and each source but the projected counters', async () => {
    const ofFirstPage = [
      'content_facts',
      'hydrate_contents',
      'hydrate_liked',
      'hydrate_users',
      'reader_state_older',
      // A remote source asks itself, once a request, what the viewer may see, and has the counts of now.
      ...(hasRemoteSources
        ? ['hydrate_counters', 'contents_visible', 'contents_visible', 'contents_visible', 'users_counts']
        : []),
    ].sort();
    // What was never read before is projected now.
    const projecting = hasRemoteSources ? [] : ['counters_read'];
    expect(await statementsOf(DETAILS, 50)).toEqual([...ofFirstPage, ...projecting].sort());
    expect(await statementsOf(DETAILS, 50)).toEqual(ofFirstPage);
    expect(await statementsOf(DETAILS, 1)).toEqual(ofFirstPage);
  });

  test('a page of 50 that crosses to the social subgraph and back costs no more statements than a page of 5', async () => {
    const fifty = await statementsOf(ACROSS, 50);
    expect(fifty).toEqual(await statementsOf(ACROSS, 5));
    expect(fifty.length).toBeLessThanOrEqual(hasRemoteSources ? 16 : 12);
  });
});

describe('limits', () => {
  afterAll(() => stack.close());

  test('a scan budget that runs out gives a short page with a cursor and a next page, and going on finds the rest', async () => {
    stack = await startStack({ SCAN_BUDGET: '2' }, { clock });
    const [ann] = (await someUsers(1)) as [string];
    const reader = await someReader(ann);
    const [newest, hidden, oldest] = [
      posts(ann, 3, T0 + 500),
      posts(ann, 60, T0 + 100, { visibility: 'PRIVATE' }),
      posts(ann, 3, T0),
    ];
    await stack.importAll([...newest, ...hidden, ...oldest]);
    const wanted = [...newest.reverse(), ...oldest.reverse()].map((line) => line['id']);

    const first = await readPage(stack, reader, { first: 5 });
    expect(idsOf(first)).toEqual(wanted.slice(0, 3));
    expect(first.pageInfo.hasNextPage).toBe(true);
    expect(first.pageInfo.endCursor).not.toBe(first.edges.at(-1)!.cursor);

    const second = await readPage(stack, reader, { first: 5, after: first.pageInfo.endCursor });
    expect(second).toMatchObject({ edges: [], emptyReason: null, isComplete: true, pageInfo: { hasNextPage: true } });
    expect(second.pageInfo.endCursor).not.toBe(first.pageInfo.endCursor);

    const pages = await walkFeed(stack, reader, 5);
    expect(pages.flatMap(idsOf)).toEqual(wanted);
    expect(new Set(pages.map((page) => page.pageInfo.endCursor)).size).toBe(pages.length);

    const upwards: string[] = [];
    for (let before = pages.at(-1)!.pageInfo.endCursor; ;) {
      const page = await readPage(stack, reader, { last: 5, before });
      upwards.unshift(...idsOf(page));
      if (!page.pageInfo.hasPreviousPage) break;
      before = page.pageInfo.startCursor;
    }
    expect(upwards).toEqual(wanted.slice(0, -1));
  });

  test('a scroll ends at TIMELINE_MAX_DEPTH with DEPTH_LIMIT, whatever the page size', async () => {
    await stack.restart({ TIMELINE_MAX_DEPTH: '7', SCAN_BUDGET: '5' });
    const [ann] = (await someUsers(1)) as [string];
    const reader = await someReader(ann);
    await stack.importAll(posts(ann, 12, T0));
    for (const size of [1, 3, 7, 50]) {
      const pages = await walkFeed(stack, reader, size);
      expect(pages.flatMap(idsOf)).toHaveLength(7);
      const after = pages.at(-1)!.pageInfo.endCursor;
      expect(await readPage(stack, reader, { first: size, after })).toMatchObject({
        edges: [],
        emptyReason: 'DEPTH_LIMIT',
        isComplete: true,
        pageInfo: { hasNextPage: false },
      });
    }
  });
});
