import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { handleContentEvent } from '../../src/fanout/handle-content-event.js';
import { startDispatcher, startExecutor, type RunningWorker, type WorkerDeps } from '../../src/fanout/start-workers.js';
import { createAuthorShares } from '../../src/fanout/author-shares.js';
import { pushTaskJobId } from '../../src/jobs/catalog.js';
import type { Queues } from '../../src/jobs/queues.js';
import { createInboxStore } from '../../src/wiring/feed.js';
import { checkClock } from '../../src/wiring/check-clock.js';
import { createWorkerDeps } from '../../src/wiring/workers.js';
import { oracleFeed } from '../harness/oracle.js';
import { createWorld, type World } from '../harness/world.js';

// Real workers on real queues: how they stop, and whom they serve first.

const BIG = 1n;
const SMALL = 2n;
const FOLLOWERS = Array.from({ length: 24 }, (_, i) => BigInt(100 + i));
const READER = 100n;

let world: World;
let queues: Queues;
let deps: WorkerDeps;
beforeAll(async () => {
  // A lock outlives the test: whatever goes on within it was handed over.
  world = await createWorld({ FANOUT_PUSH_THRESHOLD: '1000', JOB_LOCK_MS: '120000', FANOUT_TASKS_PER_CONTENT: '100' });
  ({ queues, deps } = createWorkerDeps(world.app));
});
afterAll(async () => {
  await queues.close();
  await world.close();
});
const running: RunningWorker[] = [];
const start = (worker: RunningWorker): RunningWorker => {
  running.push(worker);
  return worker;
};
beforeEach(async () => {
  await world.reset([BIG, SMALL, ...FOLLOWERS]);
  await query(
    `WITH followed AS (INSERT INTO follows (follower_id, followee_id, follow_seq) SELECT u, 1, 1 FROM unnest($1::numeric[]) u),
     small AS (INSERT INTO follows (follower_id, followee_id, follow_seq) VALUES (100, 2, 1)),
     seen AS (INSERT INTO activity (user_id, last_active_at) SELECT u, $2 FROM unnest($1::numeric[]) u),
     counted AS (UPDATE users SET follower_count = CASE id WHEN 1 THEN $3::int ELSE 1 END WHERE id IN (1, 2))
     UPDATE users SET follow_seq = 1 WHERE id = ANY($1::numeric[])`,
    [FOLLOWERS.map(String), world.now.ms, FOLLOWERS.length],
  );
  for (const follower of FOLLOWERS) await world.rebuild(follower);
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((worker) => worker.close()));
});

const query = async (sql: string, values: unknown[] = []) => (await world.app.database.pool.query(sql, values)).rows;
async function publish(author: bigint): Promise<bigint> {
  world.now.ms += 1;
  return (await world.social.publishContent({ userId: author, isAdmin: false }, { text: 'text' })).contentId;
}
/** Plans all that was published, without delivering it. */
async function planAll(): Promise<void> {
  await world.relay();
  for (
    let i = 0;
    i < 100 && (await queues.contentEvents.getJobCountByTypes('wait', 'prioritized', 'delayed')) > 0;
    i += 1
  ) {
    await world.dispatchOne();
  }
}
const until = async (isSo: () => Promise<boolean> | boolean, what: string): Promise<void> => {
  for (let tries = 0; tries < 1_000; tries += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never: ${what}`);
};
const isDone = async (contentId: bigint): Promise<boolean> =>
  (await query('SELECT state FROM fanouts WHERE content_id = $1', [String(contentId)]))[0]?.state === 'DONE';
const inboxOf = async (reader: bigint) =>
  (await createInboxStore(world.app).read(reader, { from: null, direction: 'older', limit: 10 })).entries.map(
    (entry) => entry.contentId,
  );

/** An inbox store that stands still at its first writes, until it is opened. */
function standingStill() {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const begun: bigint[] = [];
  const inbox: WorkerDeps['inbox'] = {
    ...deps.inbox,
    insert: async (readers, entry) => {
      begun.push(...readers);
      await opened;
      return deps.inbox.insert(readers, entry);
    },
  };
  return { inbox, begun, open };
}

describe('a worker that stops', () => {
  test('lets its batches end and hands the rest over: another one goes on behind them at once', async () => {
    const contentId = await publish(BIG);
    await planAll();
    const { inbox, begun, open } = standingStill();
    const stopping = start(startExecutor({ ...deps, inbox, executorConcurrency: 1, drainMs: 60_000 }));
    await until(() => begun.length > 0, 'a batch');
    const closed = stopping.close();
    open();
    await closed;
    // The first of two readers of the task: the batch ended, and the task did not go on.
    expect(begun).toEqual([READER]);
    expect(await query('SELECT latest_user_id, state FROM fanout_tasks WHERE task_no = 0')).toEqual([
      { latest_user_id: String(READER), state: 'RUNNING' },
    ]);
    expect(await queues.pushTasks.getActiveCount()).toBe(0);
    const next: bigint[] = [];
    const counting: WorkerDeps['inbox'] = {
      ...deps.inbox,
      insert: (readers, entry) => {
        next.push(...readers);
        return deps.inbox.insert(readers, entry);
      },
    };
    start(startExecutor({ ...deps, inbox: counting }));
    await until(() => isDone(contentId), 'the delivery');
    expect([...next].sort()).toEqual(FOLLOWERS.slice(1));
    for (const follower of FOLLOWERS) expect(await inboxOf(follower)).toEqual([contentId]);
  });

  test('hands over a batch that hangs when its time is up, and what hangs does no harm later', async () => {
    const contentId = await publish(BIG);
    await planAll();
    const { inbox, begun, open } = standingStill();
    const hanging = start(startExecutor({ ...deps, inbox, executorConcurrency: 1, drainMs: 50 }));
    await until(() => begun.length > 0, 'a batch');
    await hanging.close();
    expect(await queues.pushTasks.getActiveCount()).toBe(0);
    start(startExecutor(deps));
    await until(() => isDone(contentId), 'the delivery');
    open();
    await until(async () => (await queues.pushTasks.getActiveCount()) === 0, 'rest');
    expect(await query('SELECT delivered_count FROM fanouts')).toEqual([{ delivered_count: FOLLOWERS.length }]);
    for (const follower of FOLLOWERS) expect(await inboxOf(follower)).toEqual([contentId]);
  });

  test('ends the turn of a plan, and another one plans the rest without a gap', async () => {
    const contentId = await publish(BIG);
    await world.relay();
    const stop = new AbortController();
    let steps = 0;
    const stopping = { ...deps, stop: stop.signal, clock: () => (++steps === 2 && stop.abort(), world.now.ms) };
    await world.dispatchOneAs(stopping);
    expect(await query('SELECT task_count, is_planned FROM fanouts')).toEqual([{ task_count: 2, is_planned: false }]);
    start(startDispatcher(deps));
    start(startExecutor(deps));
    await until(() => isDone(contentId), 'the delivery');
    expect(await query('SELECT task_count, delivered_count FROM fanouts')).toEqual([
      { task_count: FOLLOWERS.length / 2, delivered_count: FOLLOWERS.length },
    ]);
  });
});

describe('a small fan-out beside a big one', () => {
  test('has its tasks delivered first although they were queued last', async () => {
    await publish(BIG);
    await planAll();
    const small = await publish(SMALL);
    await planAll();
    expect(await queues.pushTasks.getJobCountByTypes('prioritized')).toBe(FOLLOWERS.length / 2 + 1);
    await world.executeOne();
    expect(await isDone(small)).toBe(true);
  });

  test('is planned after one turn of the big plan', async () => {
    await publish(BIG);
    await world.relay();
    await world.dispatchOne();
    const small = await publish(SMALL);
    await world.relay();
    expect(await query('SELECT is_planned FROM fanouts ORDER BY content_id')).toEqual([
      { is_planned: false },
      { is_planned: false },
    ]);
    await world.dispatchOne();
    expect(await query('SELECT is_planned FROM fanouts WHERE content_id = $1', [String(small)])).toEqual([
      { is_planned: true },
    ]);
  });

  test('is not behind many small ones of one author: what that author has to deliver counts as a whole', async () => {
    for (let i = 0; i < 40; i += 1) await publish(SMALL);
    await planAll();
    const big = await publish(BIG);
    await planAll();
    const priorities = (await queues.pushTasks.getPrioritized(0, -1)).map((it) => [it.data.contentId, it.priority]);
    const ofBig = priorities.filter(([id]) => id === String(big)).map(([, priority]) => priority as number);
    const ofLast = priorities.filter(([id]) => id !== String(big)).map(([, priority]) => priority as number);
    expect(Math.max(...ofLast)).toBeGreaterThanOrEqual(Math.max(...ofBig));
  });

  test('finds a free executor although every task of the big one hangs', async () => {
    const big = await publish(BIG);
    await planAll();
    const { inbox, begun, open } = standingStill();
    const choosy: WorkerDeps['inbox'] = {
      ...deps.inbox,
      insert: (readers, entry) =>
        entry.contentId === big ? inbox.insert(readers, entry) : deps.inbox.insert(readers, entry),
    };
    start(startExecutor({ ...deps, inbox: choosy, executorConcurrency: 4, shares: createAuthorShares(2) }));
    await until(() => begun.length === 2, 'two tasks of the big one');
    const small = await publish(SMALL);
    await planAll();
    await until(() => isDone(small), 'the small one');
    expect(begun).toHaveLength(2);
    open();
    await until(() => isDone(big), 'the big one');
  });

  test('is planned although the bound in all is reached, but not beyond twice that', async () => {
    await publish(BIG);
    await world.relay();
    const [event] = await queues.contentEvents.getWaiting();
    await handleContentEvent({ ...deps, tasksTotal: 3 }, event!, undefined).catch(() => undefined);
    expect(await queues.pushTasks.getPrioritizedCount()).toBe(3);
    await queues.contentEvents.obliterate({ force: true });
    for (let i = 0; i < 5; i += 1) await publish(SMALL);
    await world.relay();
    for (let i = 0; i < 5; i += 1) await world.dispatchOneAs({ tasksTotal: 3 });
    expect(await queues.pushTasks.getPrioritizedCount()).toBe(6);
    await queues.contentEvents.obliterate({ force: true });
  });
});

test('a job that is active when its worker dies is given to another one after JOB_LOCK_MS', async () => {
  const contentId = await publish(SMALL);
  await planAll();
  const { inbox, begun, open } = standingStill();
  const dead = startExecutor({ ...deps, inbox, executorConcurrency: 1, drainMs: 0 });
  await until(() => begun.length > 0, 'a batch');
  // Its lock is gone, and the last look at locks is over, as after that time without a word.
  const key = (name: string): string => queues.pushTasks.toKey(name);
  await world.app.redis.del(key(`${pushTaskJobId(contentId, 0)}:lock`), key('stalled-check'));
  start(startExecutor({ ...deps, lockMs: 100 }));
  await until(() => isDone(contentId), 'the delivery');
  open();
  await dead.close();
  expect(await inboxOf(READER)).toEqual([contentId]);
});

test('a backlog of 20,000 deliveries: what is published last is read first, and everything at once', async () => {
  const posts = 20_000 / FOLLOWERS.length;
  await query(
    `WITH made AS (
       INSERT INTO contents (id, author_id, publish_time, text) SELECT n, 1, $1::bigint + n, 'text' FROM generate_series(1, $2::int) n
       RETURNING id, publish_time),
     sent AS (INSERT INTO fanouts (content_id, author_id, publish_time) SELECT id, 1, publish_time FROM made)
     INSERT INTO events (type, author_id, content_id) SELECT 'content.published', 1, id FROM made`,
    [world.now.ms, Math.ceil(posts)],
  );
  world.now.ms += 10_000;
  while ((await world.relay()) > 0) continue;
  expect((await queues.contentEvents.getWaitingCount()) * FOLLOWERS.length).toBeGreaterThanOrEqual(20_000);
  for (const author of [SMALL, BIG]) {
    const last = await publish(author);
    const page = await world.read(READER, { first: 20 });
    expect(page.edges[0]?.contentId).toBe(last);
    const expected = await oracleFeed(world.app.database.pool, READER, world.now.ms);
    expect(page.edges.map((edge) => edge.contentId)).toEqual(expected.slice(0, 20).map((entry) => entry.contentId));
  }
  await world.relay();
  await queues.contentEvents.obliterate({ force: true });
});

describe('clocks', () => {
  test.each([
    ['ahead of', 60_000],
    ['behind', -60_000],
  ])('a process whose clock is a minute %s that of Postgres refuses to start, and says why', async (_, skewMs) => {
    await expect(checkClock(world.app, () => Date.now() + skewMs)).rejects.toThrow(
      /The clocks of this process and of Postgres differ by (59|60)\d{3} ms, more than CLOCK_SKEW_MAX_MS=5000/,
    );
  });

  test('a difference that is allowed is a warning at most, and a slow answer is no difference', async () => {
    const warnings: unknown[] = [];
    const log = Object.assign(Object.create(world.app.log), { warn: (...args: unknown[]) => void warnings.push(args) });
    await checkClock({ ...world.app, log }, () => Date.now() + 3_000);
    expect(warnings).toHaveLength(1);
    let asked = 0;
    await checkClock({ ...world.app, log }, () => Date.now() + (asked++ % 2) * 60_000);
    expect(warnings).toHaveLength(1);
  });
});
