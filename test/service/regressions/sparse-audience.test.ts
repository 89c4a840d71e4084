import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { planFanout } from '../../../src/fanout/plan-fanout.js';
import { readFeed } from '../../../src/feed/feed.js';
import { findFanout } from '../../../src/stores/fanouts.js';
import { walkFollowers } from '../../../src/stores/follower-walk.js';
import { createInboxStore } from '../../../src/wiring/feed.js';
import { createWorkerDeps } from '../../../src/wiring/workers.js';
import { createWorld, type World } from '../../harness/world.js';

// Among many followers few are active: looking for them takes many small steps, not one long statement.

const AUTHOR = 1n;
const FIRST = 10_000n;
const FOLLOWERS = 5_000;
const ACTIVE = FIRST + 4_321n;
const CHUNK = 100;

let world: World;
beforeAll(async () => {
  world = await createWorld({ FANOUT_CHUNK_SIZE: String(CHUNK) });
});
afterAll(() => world.close());
beforeEach(() => world.reset([AUTHOR]));

async function addFollowers(userIds: readonly bigint[]): Promise<void> {
  await world.app.database.pool.query(
    `WITH made AS (
       INSERT INTO users (id, handle, display_name) SELECT u, 'u' || u, 'u' FROM unnest($2::numeric[]) u RETURNING id),
     followed AS (INSERT INTO follows (follower_id, followee_id, follow_seq) SELECT id, $1, 1 FROM made)
     UPDATE users SET follower_count = cardinality($2::numeric[]) WHERE id = $1`,
    [AUTHOR, userIds],
  );
  await world.app.database.pool.query('UPDATE users SET follow_seq = 1 WHERE id <> $1', [AUTHOR]);
}

test('one active among 5,000 followers is reached by one task, in bounded steps that a dead plan does not repeat', async () => {
  await addFollowers(Array.from({ length: FOLLOWERS }, (_, i) => FIRST + BigInt(i)));
  await readFeed(world.feed, ACTIVE, { first: 1 });
  await world.drain();
  const { contentId, publishTime } = await world.social.publishContent(
    { userId: AUTHOR, isAdmin: false },
    { text: 'text' },
  );

  const { pool } = world.app.database;
  const { queues, deps } = createWorkerDeps(world.app);
  try {
    // A plan asks for the time once a step: it dies in the second one.
    let steps = 0;
    const dyingIn = (step: number) => () => {
      steps += 1;
      if (steps === step) throw new Error('killed');
      return world.now.ms;
    };
    await expect(planFanout({ ...deps, clock: dyingIn(2) }, contentId, 0)).rejects.toThrow('killed');
    const half = await findFanout(pool, contentId);
    expect(half).toMatchObject({ taskCount: 0, isPlanned: false });
    const walked = Number((half?.plannedThrough ?? 0n) - FIRST) + 1;
    expect(walked).toBeGreaterThanOrEqual(CHUNK);
    expect(walked).toBeLessThan(FOLLOWERS);

    steps = 0;
    expect(await planFanout({ ...deps, clock: dyingIn(0) }, contentId, 0)).toMatchObject({
      queuedTasks: 1,
      end: 'planned',
    });
    expect(steps).toBeLessThanOrEqual(Math.ceil((FOLLOWERS - walked) / walked) + 1);
    expect(await findFanout(pool, contentId)).toMatchObject({ taskCount: 1, targetCount: 1, isPlanned: true });
    expect((await queues.pushTasks.getJobs(['prioritized'])).map((job) => job.data.userIds)).toEqual([
      [String(ACTIVE)],
    ]);

    await world.drain();
    expect(await findFanout(pool, contentId)).toMatchObject({ state: 'DONE', taskCount: 1, deliveredCount: 1 });
    const page = await createInboxStore(world.app).read(ACTIVE, { from: null, direction: 'older', limit: 5 });
    expect(page.entries).toEqual([{ publishTime, contentId }]);
  } finally {
    await queues.close();
  }
});

test('any walk gives each target once, in order, as a plain filter does, and no step looks at more than it may', async () => {
  const { pool } = world.app.database;
  await addFollowers([0n, 3n, ...Array.from({ length: 58 }, (_, i) => FIRST + 2n * BigInt(i)), 2n ** 64n - 1n]);
  const { rows } = await pool.query('SELECT follower_id FROM follows ORDER BY follower_id');
  const followers = rows.map((row) => BigInt(row.follower_id));
  const place = fc.option(fc.constantFrom(...followers, FIRST - 1n, FIRST + 51n), { nil: null, freq: 2 });
  await fc.assert(
    fc.asyncProperty(
      // Null was never seen.
      fc.array(fc.option(fc.integer({ min: 1, max: 9 }), { nil: null }), { minLength: 61, maxLength: 61 }),
      fc.record({
        activeSince: fc.integer({ min: 1, max: 10 }),
        targetsMax: fc.integer({ min: 1, max: 7 }),
        pageSize: fc.integer({ min: 1, max: 20 }),
        pagesMax: fc.integer({ min: 1, max: 4 }),
      }),
      place,
      place,
      async (seen, limits, after, through) => {
        const throughUserId = through ?? 2n ** 64n - 1n;
        await pool.query('TRUNCATE activity');
        await pool.query(
          `INSERT INTO activity (user_id, last_active_at)
           SELECT u, t FROM unnest($1::numeric[], $2::bigint[]) a(u, t) WHERE t IS NOT NULL`,
          [followers.map(String), seen],
        );
        const inRange = (id: bigint) => id > (after ?? -1n) && id <= throughUserId;
        const targets = followers.filter((id, i) => inRange(id) && (seen[i] ?? 0) >= limits.activeSince);
        const found: bigint[] = [];
        let steps = 0;
        for (let from = after; ;) {
          const step = await walkFollowers(pool, { ...limits, authorId: AUTHOR, afterUserId: from, throughUserId });
          steps += 1;
          expect(step.userIds.length).toBeLessThanOrEqual(limits.targetsMax);
          const looked = followers.filter((id) => id > (from ?? -1n) && id <= step.throughUserId).length;
          expect(looked).toBeLessThanOrEqual(limits.pageSize * limits.pagesMax);
          found.push(...step.userIds);
          if (step.isEnd) break;
          expect(step.throughUserId).toBeGreaterThan(from ?? -1n);
          from = step.throughUserId;
        }
        expect(found).toEqual(targets);
        const looks = followers.filter(inRange).length / (limits.pageSize * limits.pagesMax);
        expect(steps).toBeLessThanOrEqual(1 + Math.floor(targets.length / limits.targetsMax) + Math.floor(looks));
      },
    ),
    { numRuns: 60, seed: 1 },
  );
});
