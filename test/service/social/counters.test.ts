import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type pg from 'pg';
import { createProjectedCounters } from '../../../src/feed/projected-counters.js';
import type { Counters, CounterSource } from '../../../src/feed/sources.js';
import { foldCounters } from '../../../src/social/fold-counters.js';
import { projectCounters } from '../../../src/social/project-counters.js';
import { readProjectionLag } from '../../../src/stores/counter-changes.js';
import { addToCounter, addToCounters } from '../../../src/stores/counters.js';
import { inTransaction } from '../../../src/stores/database.js';
import { openCounterWorld, type CounterWorld } from '../../harness/counters.js';
import { as } from '../../harness/social.js';

let world: CounterWorld;
let contentId: bigint;
beforeAll(async () => {
  world = await openCounterWorld();
  await world.addUsers(1, 9);
});
afterAll(() => world.close());
beforeEach(async () => {
  contentId = await publish();
});

const publish = async (more: object = {}): Promise<bigint> =>
  (await world.socials[0].publishContent(as(1), { text: 'post', ...more })).contentId;
const like = (userId: number, active = true) =>
  world.socials[userId % 2]!.setReaction(as(userId), { contentId, kind: 'LIKE', active });
const rowOf = async () =>
  (await world.pool.query('SELECT likes FROM content_counters WHERE content_id = $1', [contentId])).rows[0]?.likes;
const shardsOf = async () =>
  (await world.pool.query('SELECT FROM content_counter_shards WHERE content_id = $1', [contentId])).rowCount;

/** Runs `work` while somebody else's transaction has done `hold`. */
async function whileHeld(hold: (client: pg.PoolClient) => Promise<unknown>, work: () => Promise<unknown>) {
  await inTransaction(world.pool, async (client) => {
    await hold(client);
    await work();
  });
}

it('counts without waiting while somebody holds the row, and folds the shards back', async () => {
  await like(2);
  await whileHeld(
    (client) => client.query('SELECT FROM content_counters WHERE content_id = $1 FOR UPDATE', [contentId]),
    async () => {
      for (const user of [3, 4, 5]) await like(user);
      await like(3, false);
    },
  );
  expect(await rowOf()).toBe(1);
  expect(await world.countsOf(contentId)).toMatchObject({ likes: 3, version: 5n });
  expect(await shardsOf()).toBe(1);
  await foldCounters({ pool: world.pool });
  expect(await shardsOf()).toBe(0);
  expect(await rowOf()).toBe(3);
  expect(await world.countsOf(contentId)).toMatchObject({ likes: 3, version: 5n });
});

it('makes a further shard when row and shards are held', async () => {
  await like(2);
  await whileHeld(
    async (client) => {
      await client.query('SELECT FROM content_counters WHERE content_id = $1 FOR UPDATE', [contentId]);
      await addToCounter(client, contentId, 'reposts', 1);
    },
    async () => {
      await addToCounter(world.pool, contentId, 'likes', 1);
      await whileHeld(
        (client) => addToCounter(client, contentId, 'likes', 1),
        () => like(3),
      );
    },
  );
  expect(await world.countsOf(contentId)).toMatchObject({ likes: 4, reposts: 1, version: 5n });
});

it('takes a count back where the row alone would go below zero, and a fold waits for what makes up for it', async () => {
  await world.pool.query('INSERT INTO content_counters (content_id) VALUES ($1)', [contentId]);
  await whileHeld(
    (client) => client.query('SELECT FROM content_counters WHERE content_id = $1 FOR UPDATE', [contentId]),
    () => like(2),
  );
  // The like stands in a shard that is held: its withdrawal goes to another one.
  await whileHeld(
    (client) => client.query('SELECT FROM content_counter_shards WHERE content_id = $1 FOR UPDATE', [contentId]),
    async () => {
      await like(2, false);
      expect(await world.countsOf(contentId)).toMatchObject({ likes: 0 });
      await foldCounters({ pool: world.pool });
      expect(await shardsOf()).toBe(2);
    },
  );
  await foldCounters({ pool: world.pool });
  expect(await shardsOf()).toBe(0);
  expect(await rowOf()).toBe(0);
});

it('lets two who count the same contents in opposite order both finish', async () => {
  const other = await publish();
  for (const id of [contentId, other]) await addToCounter(world.pool, id, 'likes', 1);
  await whileHeld(
    (client) => addToCounter(client, contentId, 'likes', 1),
    () =>
      inTransaction(world.pool, async (client) => {
        await addToCounter(client, other, 'likes', 1);
        await addToCounter(client, contentId, 'likes', 1);
      }),
  );
  await inTransaction(world.pool, async (one) => {
    await addToCounter(one, contentId, 'likes', 1);
    await inTransaction(world.pool, async (two) => {
      await addToCounter(two, other, 'likes', 1);
      await addToCounter(one, other, 'likes', 1);
      await addToCounter(two, contentId, 'likes', 1);
    });
  });
  expect(await world.countsOf(contentId)).toMatchObject({ likes: 5 });
  expect(await world.countsOf(other)).toMatchObject({ likes: 4 });
});

it('counts both of two who count for the first time at once', async () => {
  await Promise.all(
    [1, 2, 3].map(() =>
      inTransaction(world.pool, async (client) => {
        await addToCounters(client, [{ contentId, likes: 2, favorites: 1 }]);
      }),
    ),
  );
  expect(await world.countsOf(contentId)).toMatchObject({ likes: 6, favorites: 3, version: 3n });
});

it('moves no count by what ends where it began in one batch', async () => {
  await like(2);
  const before = await world.countsOf(contentId);
  await Promise.all([like(2, false), like(4), like(2), like(4, false)]);
  expect(await world.countsOf(contentId)).toMatchObject({ likes: before?.likes });
});

it('refuses one reaction of many at once without failing the others', async () => {
  const hidden = await publish({ visibility: 'PRIVATE' });
  const outcomes = await Promise.allSettled(
    [2, 4, 6, 8].map((user) =>
      world.socials[0].setReaction(as(user), {
        contentId: user === 4 ? hidden : contentId,
        kind: 'LIKE',
        active: true,
      }),
    ),
  );
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(await world.countsOf(contentId)).toMatchObject({ likes: 3 });
  expect(await world.countsOf(hidden)).toBeUndefined();
});

it('makes the row of somebody who likes before they are known', async () => {
  await Promise.all([like(100), like(101), like(102)]);
  expect(await world.countsOf(contentId)).toMatchObject({ likes: 3 });
});

it('counts the reposts that others may see, through changes of visibility and deletion', async () => {
  const reposts = async () => (await world.countsOf(contentId))?.reposts ?? 0;
  const [social] = world.socials;
  const repost = async (user: number, visibility: 'PUBLIC' | 'PRIVATE') =>
    (await social.publishContent(as(user), { text: '', repostOf: contentId, visibility })).contentId;
  const open = await repost(2, 'PUBLIC');
  const hidden = await repost(3, 'PRIVATE');
  expect(await reposts()).toBe(1);
  await social.setVisibility(as(3), hidden, 'FOLLOWERS');
  expect(await reposts()).toBe(2);
  await social.setVisibility(as(2), open, 'PRIVATE');
  expect(await reposts()).toBe(1);
  await social.deleteContent(as(2), open);
  expect(await reposts()).toBe(1);
  await social.deleteContent(as(3), hidden);
  expect(await reposts()).toBe(0);
  expect(await world.countsOf(contentId)).toMatchObject(await world.relationsOf(contentId));
});

it('tells how far the projection lags, and projects what was changed', async () => {
  await world.drain();
  expect(await readProjectionLag(world.pool)).toEqual({ length: 0, oldestMs: 0 });
  await like(2);
  await like(3);
  expect(await readProjectionLag(world.pool)).toMatchObject({ length: 2 });
  await world.drain();
  expect(await readProjectionLag(world.pool)).toMatchObject({ length: 0 });
  expect(await world.projectedOf(contentId)).toMatchObject({ likes: 2, version: 2n });
});

it('keeps the later counts when older ones come late', async () => {
  await like(2);
  await world.drain();
  const late = { likes: 7, comments: 0, reposts: 0, favorites: 0, version: 0n };
  await world.projection.save(new Map([[contentId, late]]));
  expect(await world.projectedOf(contentId)).toMatchObject({ likes: 1, version: 1n });
});

it('answers a page in one round trip to Redis, and asks Postgres for what is not projected only', async () => {
  const asked: unknown[][] = [];
  const db = { query: (query: { values: unknown[] }) => (asked.push(query.values), world.pool.query(query as never)) };
  const source = createCounters(db as never);
  const other = await publish();
  await like(2);
  await world.drain();
  const find = async () =>
    [...(await source.findCounters([contentId, other], new AbortController().signal, NOBODY))].sort(([a], [b]) =>
      a < b ? -1 : 1,
    );
  const none = { likes: 0, comments: 0, reposts: 0, favorites: 0 };
  expect(await find()).toEqual([
    [contentId, { ...none, likes: 1 }],
    [other, none],
  ]);
  expect(asked).toEqual([[[other]]]);
  await until(async () => (await world.projectedOf(other)) !== undefined);
  const calls = async () => Number(/cmdstat_mget:calls=(\d+)/.exec(await world.redisClient.info('commandstats'))?.[1]);
  const before = await calls();
  expect(await find()).toHaveLength(2);
  expect(asked).toHaveLength(1);
  expect((await calls()) - before).toBe(1);
});

it('keeps each change while Redis is away, answers from Postgres, and is right afterwards by itself', async () => {
  const source = createCounters(world.pool);
  const likes = () => likesIn(source);
  await like(2);
  await world.drain();
  expect(await likes()).toBe(1);
  await world.redis.kill();
  await like(3);
  expect(await likes()).toBe(2);
  await expect(projectCounters({ pool: world.pool, projection: world.projection })).rejects.toThrow();
  expect((await readProjectionLag(world.pool)).length).toBeGreaterThan(0);
  await world.redis.restart(true);
  await untilConnected();
  await world.drain();
  expect(await world.projectedOf(contentId)).toMatchObject({ likes: 2 });
  expect(await likes()).toBe(2);
});

it('does not believe what a Redis that was started again still holds: it may lack the last changes', async () => {
  const source = createCounters(world.pool);
  await like(2);
  await world.drain();
  await like(3);
  // Projected and told, but lost with the crash.
  await world.pool.query('DELETE FROM counter_changes');
  await world.redis.restart(true);
  await untilConnected();
  expect(await world.projectedOf(contentId)).toBeUndefined();
  expect(await likesIn(source)).toBe(2);
});

const NOBODY = { viewer: null };

async function likesIn(source: CounterSource): Promise<number | undefined> {
  const found = (await source.findCounters([contentId], new AbortController().signal, NOBODY)).get(contentId);
  return (found as Counters | undefined)?.likes;
}

const createCounters = (db: pg.Pool) =>
  createProjectedCounters({
    db,
    projection: world.projection,
    source: { findLiked: () => Promise.resolve(new Map()) },
    timeoutMs: 1_000,
  });

const untilConnected = () => until(async () => world.redisClient.ping().then(Boolean, () => false));

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('it did not come to pass');
}
