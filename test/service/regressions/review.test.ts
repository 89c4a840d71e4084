import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeCursor } from '../../../src/domain/cursor.js';
import { countNewer, readFeed, type FeedPage } from '../../../src/feed/feed.js';
import { walkFollowers } from '../../../src/stores/follower-walk.js';
import { oracleFeed } from '../../harness/oracle.js';
import { createWorld, type World } from '../../harness/world.js';

// What reviews found and the random model does not reach: each fault stays fixed here.

const AUTHOR = 1n;
const READER = 2n;
const DAY_MS = 86_400_000;

let world: World;
beforeAll(async () => {
  world = await createWorld({ SCAN_BUDGET: '5', ACTIVE_DAYS: '1', DORMANT_DAYS: '30' });
});
afterAll(() => world.close());
beforeEach(() => world.reset([AUTHOR, READER, 3n, 4n, 5n]));

const as = (userId: bigint) => ({ userId, isAdmin: false });
const idsOf = (page: FeedPage): bigint[] => page.edges.map((edge) => edge.contentId);
const oracle = async (reader = READER): Promise<bigint[]> =>
  (await oracleFeed(world.app.database.pool, reader, world.now.ms)).map((entry) => entry.contentId);
/** Through the guards of the product. */
const read = (args = {}, reader = READER): Promise<FeedPage> => readFeed(world.feed, reader, { first: 20, ...args });
const follow = (follower: bigint, followee: bigint) => world.social.setFollow(as(follower), followee, true);
async function publish(author = AUTHOR, input = {}): Promise<bigint> {
  world.now.ms += 1;
  return (await world.social.publishContent(as(author), { text: 'text', ...input })).contentId;
}
/** Has an inbox that answers for everything so far. */
async function warm(reader = READER): Promise<void> {
  await read({}, reader);
  await world.drain();
}
async function expectWhole(): Promise<void> {
  const expected = await oracle();
  expect(expected.length).toBeGreaterThan(0);
  expect(idsOf(await read())).toEqual(expected.slice(0, 20));
}

describe('a Redis that comes back with older data', () => {
  async function rollBack(kind: 'inbox' | 'outbox', work: () => Promise<void>): Promise<void> {
    const { redis } = world.app;
    const keys = await redis.keys(`*:${kind}:*`);
    expect(keys.length).toBeGreaterThan(0);
    const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    await work();
    await world.redis.kill();
    await world.redis.restart();
    for (let tries = 0; tries < 200 && redis.status !== 'ready'; tries += 1)
      await new Promise((r) => setTimeout(r, 20));
    await Promise.all(keys.map((key, i) => redis.restore(key, 0, dumps[i] as Buffer, 'REPLACE')));
  }

  test('its inboxes are not relied on: heads and entries are whole, but old', async () => {
    await follow(READER, AUTHOR);
    await publish();
    await warm();
    await rollBack('inbox', async () => {
      await publish();
      await world.drain();
      await expectWhole();
    });
    await expectWhole();
  });

  test('nor are its projections of big accounts', async () => {
    for (const follower of [READER, 3n, 4n]) await follow(follower, AUTHOR);
    await publish();
    await world.drain();
    await warm();
    world.now.ms += 2 * DAY_MS;
    await warm();
    await rollBack('outbox', async () => {
      world.now.ms += 2 * DAY_MS;
      await publish();
      await world.drain();
    });
    await expectWhole();
  });
});

describe('a changed policy', () => {
  test('a longer ACTIVE_DAYS does not trust what the shorter one left out', async () => {
    for (const follower of [READER, 3n, 4n]) await follow(follower, AUTHOR);
    await warm();
    world.now.ms += 3 * DAY_MS;
    await publish();
    await world.drain();
    await world.setPolicy({ ACTIVE_DAYS: '7' });
    await expectWhole();
  });

  test.each([[{ INBOX_BUCKETS: '17' }], [{ FEED_MODE: 'pull' }], [{ REDIS_KEY_PREFIX: 'other' }]])(
    '%j and back: what was pushed elsewhere in between is there',
    async (policy) => {
      await follow(READER, AUTHOR);
      await warm();
      await world.setPolicy(policy);
      await publish();
      if (!('REDIS_KEY_PREFIX' in policy)) await world.drain();
      await world.setPolicy({});
      await world.drain();
      await expectWhole();
    },
  );

  test('an executor of another store puts the task back, which uses no attempt', async () => {
    await follow(READER, AUTHOR);
    await warm();
    await publish();
    await world.relay();
    await world.dispatchOne();
    for (let i = 0; i < 10; i += 1) await world.executeOneAs({ INBOX_STORE: 'postgres' });
    await expectWhole();
    await world.drain();
    await expectWhole();
    const { rows } = await world.app.database.pool.query('SELECT state, failed_task_count FROM fanouts');
    expect(rows).toEqual([{ state: 'DONE', failed_task_count: 0 }]);
  });
});

test('an account that is deleted and made again does not inherit what an old inbox claims', async () => {
  for (const followee of [3n, 4n, 5n]) await follow(READER, followee);
  await warm();
  await world.app.database.pool.query('DELETE FROM users WHERE id = $1', [String(READER)]);
  await publish();
  await world.drain();
  await follow(READER, AUTHOR);
  await expectWhole();
  await world.drain();
  await expectWhole();
});

test('posts dated in the future keep nobody from the present', async () => {
  await follow(READER, AUTHOR);
  const due = await publish();
  for (let i = 0; i < 40; i += 1) {
    await world.publishAt(AUTHOR, { publishTime: world.now.ms + DAY_MS + i, contentId: 5_000n + BigInt(i) });
  }
  const top = await read({ first: 5 });
  expect(idsOf(top)).toEqual([due]);
  expect(await top.hasNextPage()).toBe(false);
  const cursor = top.endCursor as string;
  expect(await countNewer(world.feed, READER, cursor, 5)).toEqual({ count: 0, hasMore: false });
  const up = await readFeed(world.feed, READER, { last: 5, before: cursor });
  expect(await up.hasPreviousPage()).toBe(false);
  const later = await publish();
  expect(idsOf(await readFeed(world.feed, READER, { last: 5, before: up.startCursor ?? cursor }))).toEqual([later]);
  world.now.ms += 2 * DAY_MS;
  await expectWhole();
});

test.each(['opens to followers', 'publishes to followers'])(
  'who is blocked while reading does not see what the blocker %s afterwards',
  async (what) => {
    await follow(READER, AUTHOR);
    const hidden = what.startsWith('opens') ? await publish(AUTHOR, { visibility: 'PRIVATE' }) : null;
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const page = world.read(READER, { first: 5 }, { before: gate });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await world.social.setBlock(as(AUTHOR), READER, true);
    if (hidden) await world.social.setVisibility(as(AUTHOR), hidden, 'FOLLOWERS');
    else await publish(AUTHOR, { visibility: 'FOLLOWERS' });
    open();
    expect(idsOf(await page)).toEqual([]);
  },
);

test('the depth limit holds against every legal cursor, and the last page ends at its last edge', async () => {
  await follow(READER, AUTHOR);
  const visible: bigint[] = [];
  for (let i = 0; i < 12; i += 1) visible.unshift(await publish(AUTHOR, { visibility: i % 2 ? 'PRIVATE' : 'PUBLIC' }));
  const feed = { ...world.feed, maxDepth: 3, scanBudget: 2 };
  const allowed = (await oracle()).slice(0, 3);
  const seen = new Set<bigint>();
  let down = await readFeed(feed, READER, { first: 10 });
  for (let i = 0; i < 10; i += 1) {
    for (const id of idsOf(down)) seen.add(id);
    const position = down.endCursor && decodeCursor(down.endCursor, READER, feed.cursorKeys).position;
    if (position === 3) expect(down.endCursor).toBe(down.edges.at(-1)?.cursor ?? down.endCursor);
    const up = down.endCursor && (await readFeed(feed, READER, { last: 10, before: down.endCursor }));
    if (!up) break;
    for (const id of idsOf(up)) seen.add(id);
    down = await readFeed(feed, READER, { first: 10, after: up.edges.at(-1)?.cursor ?? down.endCursor });
  }
  expect([...seen].filter((id) => !allowed.includes(id))).toEqual([]);
});

test('how far a chain of reposts is followed does not depend on the page', async () => {
  await follow(READER, AUTHOR);
  let last = await publish(AUTHOR);
  for (let i = 0; i < 11; i += 1) last = await publish(AUTHOR, { text: `quote ${i}`, repostOf: last });
  const whole = idsOf(await read());
  const single: bigint[] = [];
  for (let after: string | null = null; ;) {
    const page = await read({ first: 1, after });
    single.push(...idsOf(page));
    if (!(await page.hasNextPage())) break;
    after = page.endCursor;
  }
  expect(single).toEqual(whole);
});

test('deliveries that were lost with the queue are planned again by the sweep, and arrive', async () => {
  for (const follower of [READER, 3n, 4n]) await follow(follower, AUTHOR);
  for (const reader of [READER, 3n, 4n]) await warm(reader);
  await publish();
  await world.relay();
  await world.dispatchOne();
  await world.app.redis.del(...(await world.app.redis.keys('{*')));
  await world.drain();
  await world.app.database.pool.query(`UPDATE fanouts SET touched_at = now() - interval '1 hour'`);
  expect(await world.sweep()).toMatchObject({ replanned: 1 });
  await world.drain();
  const { rows } = await world.app.database.pool.query('SELECT state FROM fanouts');
  expect(rows).toEqual([{ state: 'DONE' }]);
  await expectWhole();
});

test('the walk over a sparse audience reaches each target once, in bounded steps', async () => {
  const { pool } = world.app.database;
  await pool.query(
    `INSERT INTO users (id, handle, display_name) SELECT u, 'u' || u, 'u' FROM generate_series(100, 1100) u`,
  );
  await pool.query('INSERT INTO follows SELECT u, 1, 1 FROM generate_series(100, 1100) u');
  await pool.query('INSERT INTO activity (user_id, last_active_at) SELECT u, 10 FROM generate_series(100, 1100, 91) u');
  const found: bigint[] = [];
  let steps = 0;
  for (let after: bigint | null = null; ;) {
    const step = await walkFollowers(pool, {
      authorId: AUTHOR,
      afterUserId: after,
      throughUserId: 10_000n,
      activeSince: 5,
      targetsMax: 3,
      pageSize: 50,
      pagesMax: 4,
    });
    steps += 1;
    found.push(...step.userIds);
    if (step.isEnd) break;
    expect(step.throughUserId).toBeGreaterThan(after ?? -1n);
    after = step.throughUserId;
  }
  expect(found).toEqual(Array.from({ length: 11 }, (_, i) => BigInt(100 + 91 * i)));
  expect(steps).toBeLessThan(12);
});
