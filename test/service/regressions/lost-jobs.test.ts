import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { UnrecoverableError, Worker } from 'bullmq';
import pg from 'pg';
import { recordFailure } from '../../../src/fanout/handle-push-task.js';
import { startExecutor, type WorkerDeps } from '../../../src/fanout/start-workers.js';
import { PUSH_QUEUE, pushTaskJobId } from '../../../src/jobs/catalog.js';
import { queuePrefix, type Queues } from '../../../src/jobs/queues.js';
import { createInboxStore } from '../../../src/wiring/feed.js';
import { createWorkerDeps } from '../../../src/wiring/workers.js';
import { readFeed } from '../../../src/feed/feed.js';
import { oracleFeed } from '../../harness/oracle.js';
import { startProxy, type Proxy } from '../../harness/proxy.js';
import { createWorld, type World } from '../../harness/world.js';

// The queue and the table of tasks are two stores: what one of them loses, the other must bring back.

const AUTHOR = 1n;
const READERS = [2n, 3n, 4n, 5n, 6n];

let world: World;
let queues: Queues;
let deps: WorkerDeps;
let postgres: Proxy;
/** Past the proxy. */
let direct: pg.Pool;
beforeAll(async () => {
  world = await createWorld({ FANOUT_PUSH_THRESHOLD: '100' }, async (urls) => {
    postgres = await startProxy(urls.DATABASE_URL);
    direct = new pg.Pool({ connectionString: urls.DATABASE_URL, max: 2 });
    return { ...urls, DATABASE_URL: postgres.url };
  });
  ({ queues, deps } = createWorkerDeps(world.app));
});
afterAll(async () => {
  await queues.close();
  await direct.end();
  await world.close();
  await postgres.close();
});
beforeEach(async () => {
  await world.reset([AUTHOR, ...READERS]);
  for (const reader of READERS) {
    await world.social.setFollow(as(reader), AUTHOR, true);
    await readFeed(world.feed, reader, { first: 5 });
  }
  await world.drain();
});

const as = (userId: bigint) => ({ userId, isAdmin: false });
/** Publishes, and leaves the tasks in the queue: two, as many as may be outstanding. */
async function planOne(): Promise<bigint> {
  world.now.ms += 1;
  const { contentId } = await world.social.publishContent(as(AUTHOR), { text: 'text' });
  await world.relay();
  await world.dispatchOne();
  return contentId;
}
const fanout = async () =>
  (await direct.query('SELECT state, task_count, finished_task_count, failed_task_count FROM fanouts')).rows[0];
const age = () => direct.query(`UPDATE fanouts SET touched_at = now() - interval '1 hour'`);
const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  for (let tries = 0; tries < 400 && !(await isSo()); tries += 1) await new Promise((r) => setTimeout(r, 25));
};
async function expectWhole(): Promise<void> {
  for (const reader of READERS) {
    const page = await readFeed(world.feed, reader, { first: 20 });
    const expected = await oracleFeed(direct, reader, world.now.ms);
    expect(expected.length).toBeGreaterThan(0);
    expect(page.edges.map((edge) => edge.contentId)).toEqual(expected.map((entry) => entry.contentId));
  }
}
const NOTHING_STUCK = { suspected: 0, replanned: 0, failed: 0 };
const DONE = { state: 'DONE', task_count: 3, finished_task_count: 3, failed_task_count: 0 };

test('an emptied Redis: the sweep plans again, what was planned and what was not, and everything is delivered', async () => {
  await planOne();
  await world.app.redis.flushall();
  await world.drain();
  expect(await fanout()).toMatchObject({ state: 'RUNNING', task_count: 2, finished_task_count: 0 });
  expect(await world.sweep()).toEqual(NOTHING_STUCK);
  await age();
  await expectWhole();
  // Twice: the second sweep finds the first one's work still waiting.
  for (let i = 0; i < 2; i += 1) {
    expect(await world.sweep()).toEqual({ suspected: 1, replanned: 1, failed: 0 });
    expect(await queues.contentEvents.getJobCountByTypes('wait', 'prioritized', 'delayed')).toBe(1);
    await age();
  }
  await world.drain();
  expect(await fanout()).toEqual(DONE);
  expect(await world.sweep()).toEqual(NOTHING_STUCK);
  await expectWhole();
});

describe('a job that fails for good', () => {
  /** Takes the next job as BullMQ does, and fails it without a word to the table. */
  async function failSilently(): Promise<void> {
    const worker = new Worker(PUSH_QUEUE, null, {
      connection: world.app.queueRedis,
      prefix: queuePrefix(world.app.config.REDIS_KEY_PREFIX),
    });
    worker.on('error', () => undefined);
    try {
      const job = await worker.getNextJob('silent', { block: false });
      await job.moveToFailed(new UnrecoverableError('out of memory'), 'silent', false);
    } finally {
      await worker.close();
    }
  }
  async function retryFromDashboard(): Promise<void> {
    const jobs = await queues.pushTasks.getFailed();
    expect(jobs).toHaveLength(1);
    for (const job of jobs) await job.retry();
    await world.drain();
  }

  test('without the table knowing is recorded as failed by the sweep, once, and can be tried again', async () => {
    await planOne();
    await failSilently();
    await world.drain();
    expect(await fanout()).toMatchObject({ state: 'RUNNING', finished_task_count: 2, failed_task_count: 0 });
    await age();
    expect(await world.sweep()).toEqual({ suspected: 1, replanned: 0, failed: 1 });
    await world.drain();
    expect(await fanout()).toMatchObject({ state: 'FAILED', finished_task_count: 2, failed_task_count: 1 });
    expect(await world.sweep()).toEqual(NOTHING_STUCK);
    await expectWhole();
    await retryFromDashboard();
    expect(await fanout()).toEqual(DONE);
    await expectWhole();
  });

  test('because it stalled too often, so without its handler, is recorded by the executor', async () => {
    const contentId = await planOne();
    // The eleventh worker has died in it: active, without a lock, and found so by the last look at stalled jobs.
    const worker = new Worker(PUSH_QUEUE, null, {
      connection: world.app.queueRedis,
      prefix: queuePrefix(world.app.config.REDIS_KEY_PREFIX),
    });
    const job = await worker.getNextJob('dead', { block: false });
    expect(job.id).toBe(pushTaskJobId(contentId, 0));
    await worker.close();
    const key = (name: string) => queues.pushTasks.toKey(name);
    await world.app.redis
      .multi()
      .del(key(`${job.id}:lock`))
      .hset(key(job.id!), 'stc', 10)
      .sadd(key('stalled'), job.id!)
      .exec();

    const executor = startExecutor(deps);
    try {
      await until(async () => (await fanout()).failed_task_count > 0);
    } finally {
      await executor.close();
    }
    expect((await queues.pushTasks.getFailed()).map((it) => it.failedReason)).toEqual([
      'job stalled more than allowable limit',
    ]);
    expect(await fanout()).toMatchObject({ state: 'FAILED', failed_task_count: 1 });
    await world.drain();
    await expectWhole();
    await retryFromDashboard();
    expect(await fanout()).toEqual(DONE);
  });

  test('is recorded once, however often that is reported, and not after it was delivered', async () => {
    await planOne();
    const [first, second] = await queues.pushTasks.getJobs(['prioritized', 'wait'], 0, -1, true);
    for (let i = 0; i < 2; i += 1) await recordFailure(deps, first!, new Error('gone'));
    expect(await fanout()).toMatchObject({ state: 'FAILED', failed_task_count: 1 });
    await world.drain();
    await recordFailure(deps, second!, new Error('late'));
    expect(await fanout()).toEqual(DONE);
  });
});

describe('Postgres away during a task', () => {
  const attempts = async () =>
    (await queues.pushTasks.getJobs(['prioritized', 'wait', 'delayed', 'failed'])).map((job) => job.attemptsMade);
  async function mend(): Promise<void> {
    postgres.mend();
    await until(() =>
      world.app.database.pool.query('SELECT 1').then(
        () => true,
        () => false,
      ),
    );
  }

  test('puts it back without using an attempt, more often than it has attempts, and it is delivered afterwards', async () => {
    await planOne();
    postgres.cut();
    try {
      // Each second turn promotes what was put back.
      for (let i = 0; i < 4 * world.app.config.FANOUT_ATTEMPTS; i += 1) await world.executeOne();
      expect(await attempts()).toEqual([0, 0]);
    } finally {
      await mend();
    }
    expect(await fanout()).toMatchObject({ state: 'RUNNING', failed_task_count: 0 });
    await world.drain();
    expect(await fanout()).toEqual(DONE);
    await expectWhole();
  });

  test('between a batch and its progress delivers the batch again, which no inbox notices', async () => {
    await planOne();
    const inbox = createInboxStore(world.app);
    try {
      await world.executeOneAs(
        {},
        {
          inbox: {
            ...inbox,
            async insert(...args) {
              const result = await inbox.insert(...args);
              postgres.cut();
              return result;
            },
          },
        },
      );
      expect(await attempts()).toEqual([0, 0]);
    } finally {
      await mend();
    }
    await world.drain();
    expect(await fanout()).toEqual(DONE);
    await expectWhole();
  });
});
