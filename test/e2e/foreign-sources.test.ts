import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startForeignService, type ForeignService } from '../harness/foreign-service.js';
import { content, follow, startStack, user, type Stack } from '../harness/stack.js';

// A company's own services behind the feed: three servers that know nothing of Tideline, plugged in by settings.

const VIEWER = '1';
const AUTHOR = '2';
const T0 = 1_700_000_000_000;

let stack: Stack;
let contents: ForeignService;
let users: ForeignService;
let counters: ForeignService;

beforeAll(async () => {
  [contents, users, counters] = await Promise.all([
    startForeignService(),
    startForeignService(),
    startForeignService(),
  ]);
  stack = await startStack({
    CONTENT_SOURCE_URL: contents.url,
    USER_SOURCE_URL: users.url,
    COUNTER_SOURCE_URL: counters.url,
    SOURCE_TIMEOUT_MS: '3000',
  });
  await stack.importAll([
    ...[VIEWER, AUTHOR].map((id) => user(id)),
    follow(VIEWER, AUTHOR),
    ...[101, 102, 103].map((id) => content(String(id), AUTHOR, T0 + id)),
  ]);
});
afterAll(async () => {
  await stack.close();
  await Promise.all([contents, users, counters].map((service) => service.close()));
});

beforeEach(() => {
  for (const service of [contents, users, counters]) {
    service.misbehave(() => null);
    service.requests.length = 0;
  }
  for (const id of ['101', '102', '103']) {
    contents.contents.set(id, {
      text: `Theirs ${id}`,
      media: [],
      publishTime: new Date(T0 + Number(id)).toISOString(),
      visibility: 'PUBLIC',
      author: { userId: AUTHOR },
    });
    counters.contents.set(id, {
      counters: { likes: Number(id), comments: 0, reposts: 0, favorites: 0 },
      viewerHasLiked: id === '103',
    });
  }
  users.users.set(AUTHOR, { handle: 'theirs', displayName: 'Their name', avatarUrl: null });
});

const FEED = `{ timelineFeed(first: 3) { isComplete edges { node {
  contentId text viewerHasLiked author { displayName } counters { likes } } } } }`;

async function readFeed() {
  const { body } = await stack.post(FEED, {}, await stack.tokenFor(VIEWER));
  const feed = body.data?.['timelineFeed'] as { isComplete: boolean; edges: { node: unknown }[] };
  const errors = (body.errors ?? []).map(({ path, extensions }) => `${path?.join('.')}: ${extensions.code}`);
  return { nodes: feed.edges.map(({ node }) => node), isComplete: feed.isComplete, errors, text: JSON.stringify(body) };
}

const node = (id: string, more: object = {}) => ({
  contentId: id,
  text: `Theirs ${id}`,
  viewerHasLiked: id === '103',
  author: { displayName: 'Their name' },
  counters: { likes: Number(id) },
  ...more,
});

test('a feed shows what their services say, asked once each, for the viewer who asked', async () => {
  const { nodes, errors } = await readFeed();
  expect({ nodes, errors }).toEqual({ nodes: [node('103'), node('102'), node('101')], errors: [] });
  expect([contents, users, counters].map((service) => service.requests.length)).toEqual([1, 1, 2]);
  const authorization = `Bearer ${await stack.tokenFor(VIEWER)}`;
  for (const { headers } of [contents, users, counters].flatMap((service) => service.requests)) {
    expect(headers).toMatchObject({ authorization, 'x-request-id': expect.stringMatching(/^[\w-]{8,}$/) });
  }
});

test('their counter service down costs counters and likes, with the code of a service that is away', async () => {
  counters.misbehave(() => ({ status: 502, body: 'Bad gateway at 10.1.2.3' }));
  const { nodes, isComplete, errors, text } = await readFeed();
  const without = { counters: null, viewerHasLiked: null };
  expect(nodes).toEqual([node('103', without), node('102', without), node('101', without)]);
  expect(isComplete).toBe(true);
  expect(errors.sort()).toEqual(
    [0, 1, 2].flatMap((i) => [
      `timelineFeed.edges.${i}.node.counters: SERVICE_UNAVAILABLE`,
      `timelineFeed.edges.${i}.node.viewerHasLiked: SERVICE_UNAVAILABLE`,
    ]),
  );
  expect(text).not.toContain('10.1.2.3');
});

test('their user service too slow costs the authors', async () => {
  users.misbehave(() => 'hang');
  const { nodes, errors } = await readFeed();
  expect(nodes).toEqual([node('103', { author: null }), node('102', { author: null }), node('101', { author: null })]);
  expect(errors.every((error) => /author\.displayName: SERVICE_UNAVAILABLE$/.test(error))).toBe(true);
});

test('one content that their service cannot give is null at its place, and the feed goes on past it', async () => {
  contents.contents.set('102', new Error('SELECT failed at 10.1.2.3'));
  const { nodes, errors, text } = await readFeed();
  expect(nodes).toEqual([node('103'), null, node('101')]);
  expect(new Set(errors.map((error) => error.replace(/node\..*?:/, 'node:')))).toEqual(
    new Set(['timelineFeed.edges.1.node: SERVICE_UNAVAILABLE']),
  );
  expect(text).not.toContain('10.1.2.3');
});
