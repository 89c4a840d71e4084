import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openApp } from '../../src/app.js';
import { readConfig } from '../../src/config.js';
import { createIdGenerator } from '../../src/social/id-generator.js';
import { publishContent } from '../../src/social/publish-content.js';
import { startSocialSubgraph } from '../../src/wiring/subgraphs.js';
import { createRandom } from '../harness/graphs.js';
import { openEvents, openSocket, type LiveClient, type OpenLive } from '../harness/live.js';
import { content, follow, readPage, startStack, user, type Stack } from '../harness/stack.js';
import { postGraphql } from '../harness/tiny-subgraphs.js';

// Viewer 1 follows 2 and 3, not 4; 5 is who tests block. Nobody delivers: what is told is what can be read at once.

const SUBSCRIBE = 'subscription ($since: String) { timelineUpdated(since: $since) { newerCount hasMore } }';
const PUBLISH = `mutation ($visibility: Visibility) {
  publishContent(input: { text: "x", visibility: $visibility }) { content { contentId } } }`;
const REPOST = `mutation ($id: ID!) { publishContent(input: { text: "", repostOfContentId: $id }) { content { contentId } } }`;
const DELETE = 'mutation ($id: ID!) { deleteContent(input: { contentId: $id }) { contentId } }';
const SHOW = `mutation ($id: ID!, $visibility: Visibility!) {
  setVisibility(input: { contentId: $id, visibility: $visibility }) { content { id } } }`;
const FOLLOW =
  'mutation ($id: ID!, $on: Boolean!) { setFollow(input: { userId: $id, following: $on }) { user { id } } }';
const BLOCK = 'mutation ($id: ID!, $on: Boolean!) { setBlock(input: { userId: $id, blocked: $on }) { user { id } } }';

/** Far less than the second of production, so that tests wait for nothing. */
const SETTINGS = { LIVE_INTERVAL_MS: '10', RELAY_POLL_MS: '50' };

let stack: Stack;
beforeAll(async () => {
  stack = await startStack(SETTINGS, { roles: ['relay'] });
  await stack.importAll([...['1', '2', '3', '4', '5', '6'].map((id) => user(id)), follow('6', '2')]);
});
afterAll(() => stack.close());
beforeEach(async () => {
  for (const id of ['2', '3', '4', '5']) {
    await stack.ask('1', BLOCK, { id, on: false });
    await stack.ask('1', FOLLOW, { id, on: id === '2' || id === '3' });
  }
});

const publish = async (author: string, visibility = 'PUBLIC'): Promise<string> =>
  (await stack.ask(author, PUBLISH, { visibility })).publishContent.content.contentId;

const startCursor = async (viewer = '1') => (await readPage(stack, viewer)).pageInfo.startCursor;

const subscribe = async (open: OpenLive, since: string | null, viewer = '1'): Promise<LiveClient> =>
  open({ url: stack.url, token: await stack.tokenFor(viewer), query: SUBSCRIBE, variables: { since } });

/** The next count that is told. */
async function told(client: LiveClient): Promise<number> {
  const result = await client.next();
  if (!result?.data) throw new Error(`no count: ${JSON.stringify(result)}`);
  const count: number = result.data.timelineUpdated.newerCount;
  lastTold.set(client, count);
  return count;
}

const lastTold = new WeakMap<LiveClient, number>();

/** Reads on until this is what was told last; a count that never comes is a timeout of the test. */
async function untilTold(client: LiveClient, count: number): Promise<void> {
  while (lastTold.get(client) !== count) await told(client);
}

const TRANSPORTS: readonly [string, OpenLive][] = [
  ['server-sent events', openEvents],
  ['graphql-ws', openSocket],
];

describe.each(TRANSPORTS)('by %s', (_, open) => {
  test('the count is told at once, and again when it changes; what the viewer may not see changes nothing', async () => {
    const client = await subscribe(open, await startCursor());
    expect(await told(client)).toBe(0);
    await publish('2');
    expect(await told(client)).toBe(1);
    await publish('2', 'PRIVATE');
    await publish('4');
    await publish('1');
    await publish('3', 'FOLLOWERS');
    // Posts of one viewer are told in order: had one of the three counted, this would be another number.
    expect(await told(client)).toBe(2);
    await client.close();
  });

  test('deleting, hiding, showing, following and blocking move it', async () => {
    const client = await subscribe(open, await startCursor());
    expect(await told(client)).toBe(0);
    const id = await publish('2');
    expect(await told(client)).toBe(1);
    await stack.ask('2', SHOW, { id, visibility: 'PRIVATE' });
    expect(await told(client)).toBe(0);
    await stack.ask('2', SHOW, { id, visibility: 'FOLLOWERS' });
    expect(await told(client)).toBe(1);
    await publish('4');
    await stack.ask('1', FOLLOW, { id: '4', on: true });
    expect(await told(client)).toBe(2);
    await publish('4');
    expect(await told(client)).toBe(3);
    await stack.ask('4', BLOCK, { id: '1', on: true });
    expect(await told(client)).toBe(1);
    await publish('4');
    await stack.ask('2', DELETE, { id });
    expect(await told(client)).toBe(0);
    await stack.ask('4', BLOCK, { id: '1', on: false });
    await client.close();
  });

  test('a repost counts while its original may be seen', async () => {
    const [ofStranger, ofBlocked] = [await publish('4'), await publish('5')];
    await stack.ask('1', BLOCK, { id: '5', on: true });
    const client = await subscribe(open, await startCursor());
    expect(await told(client)).toBe(0);
    await stack.ask('2', REPOST, { id: ofBlocked });
    await stack.ask('2', REPOST, { id: ofStranger });
    expect(await told(client)).toBe(1);
    expect((await stack.ask('1', NEWER, { than: await startCursor() })).timelineNewer.count).toBe(0);
    await client.close();
  });

  test('who gives no cursor is told of what comes from now on; nobody else hears of it', async () => {
    await publish('2');
    const mine = await subscribe(open, null);
    const others = await subscribe(open, null, '5');
    expect([await told(mine), await told(others)]).toEqual([0, 0]);
    await publish('2');
    expect(await told(mine)).toBe(1);
    await stack.ask('5', FOLLOW, { id: '3', on: true });
    await publish('3');
    expect(await told(mine)).toBe(2);
    // Of all that 3 ever published, as the feed was empty: no post of 2 is among them.
    await untilTold(others, (await readPage(stack, '5', { first: 100 })).edges.length);
    await stack.ask('5', FOLLOW, { id: '3', on: false });
    await mine.close();
    await others.close();
  });

  test('a foreign cursor, no token, another field: the codes of queries', async () => {
    const codeOf = async (opening: Promise<LiveClient>) => {
      const client = await opening;
      const result = await client.next();
      await client.close();
      return result?.errors?.[0]?.extensions?.['code'];
    };
    await publish('2');
    const cursor = await startCursor('1');
    expect(await codeOf(subscribe(open, cursor, '5'))).toBe('INVALID_CURSOR');
    expect(await codeOf(subscribe(open, `${cursor?.slice(0, -1)}_`))).toBe('INVALID_CURSOR');
    const token = await stack.tokenFor('1');
    const wrong = { url: stack.url, token, query: 'subscription { timelineUpdatedd { newerCount } }' };
    expect(await codeOf(open(wrong))).toBe('GRAPHQL_VALIDATION_FAILED');
  });
});

const NEWER = 'query ($than: String!) { timelineNewer(than: $than) { count hasMore } }';

test('whatever happens, the last count told is the one that a query gives', async () => {
  const random = createRandom(7);
  const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T;
  const since = await startCursor();
  const clients = [await subscribe(openEvents, since), await subscribe(openSocket, since)];
  const ids: { id: string; author: string }[] = [];
  const visibilities = ['PUBLIC', 'PUBLIC', 'FOLLOWERS', 'PRIVATE'];
  for (let round = 0; round < 5; round += 1) {
    for (let step = 0; step < 12; step += 1) {
      const author = pick(['2', '3', '4', '5']);
      const known = ids.length > 0 ? pick(ids) : null;
      const kind = random(8);
      if (kind < 4 || !known) ids.push({ author, id: await publish(author, pick(visibilities)) });
      else if (kind === 4) await stack.ask(known.author, DELETE, { id: known.id });
      else if (kind === 5) await stack.codeOf(known.author, SHOW, { id: known.id, visibility: pick(visibilities) });
      else if (kind === 6) await stack.codeOf('1', FOLLOW, { id: author, on: random(2) === 1 });
      else await stack.ask('1', BLOCK, { id: author, on: random(3) === 0 });
    }
    const { count } = (await stack.ask('1', NEWER, { than: since })).timelineNewer;
    await Promise.all(clients.map((client) => untilTold(client, count)));
  }
  await Promise.all(clients.map((client) => client.close()));
});

test('more than 100 are more than 100, and come back below', async () => {
  await publish('2');
  const since = await startCursor();
  const ids = Array.from({ length: 102 }, (_, i) => String(1_000 + i));
  await stack.importAll(ids.map((id) => content(id, '2', Date.now())));
  const client = await subscribe(openEvents, since);
  expect((await client.next())?.data).toEqual({ timelineUpdated: { newerCount: 100, hasMore: true } });
  await publish('3');
  for (const id of ids.slice(0, 4)) await stack.ask('2', DELETE, { id });
  await untilTold(client, 99);
  await client.close();
});

test('what another process publishes is told, by who commits or by the relay', async () => {
  const client = await subscribe(openEvents, await startCursor());
  expect(await told(client)).toBe(0);
  const other = await openApp(readConfig(stack.environment), { name: 'another' });
  const social = await startSocialSubgraph(other);
  const { body } = await postGraphql(social.url, PUBLISH, { token: await stack.tokenFor('2') });
  expect(body.errors).toBeUndefined();
  expect(await told(client)).toBe(1);
  // A publisher that tells nobody: only its event does.
  const { pool } = other.database;
  const ids = createIdGenerator({ pool, clock: Date.now, log: other.log });
  await publishContent({ pool, ids, clock: Date.now }, { userId: 3n, isAdmin: false }, { text: 'x' });
  expect(await told(client)).toBe(2);
  await ids.close();
  await social.close();
  await other.close();
  await client.close();
});

test('after an outage of Redis one count catches up, and news are told again', async () => {
  const client = await subscribe(openSocket, await startCursor());
  expect(await told(client)).toBe(0);
  await stack.redis.kill();
  await publish('2');
  await publish('3');
  await stack.redis.restart();
  expect(await told(client)).toBe(2);
  await publish('2');
  expect(await told(client)).toBe(3);
  await client.close();
});

test('a subscription is no visit: it leaves no mark and no inbox', async () => {
  const client = await subscribe(openEvents, null, '6');
  expect(await told(client)).toBe(0);
  const { rows } = await stack.app.database.pool.query('SELECT FROM activity WHERE user_id = 6');
  expect(rows).toEqual([]);
  expect(await stack.inboxOf('6')).toBeNull();
  await client.close();
});
