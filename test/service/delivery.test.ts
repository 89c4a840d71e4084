import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { handleContentEvent } from '../../src/fanout/handle-content-event.js';
import { executeTask } from '../../src/fanout/execute-task.js';
import { relayEvents } from '../../src/fanout/relay-events.js';
import { retryFanout } from '../../src/fanout/retry-fanout.js';
import type { WorkerDeps } from '../../src/fanout/start-workers.js';
import { pushTaskJobId, readPushTask } from '../../src/jobs/catalog.js';
import type { Queues } from '../../src/jobs/queues.js';
import { saveTaskProgress } from '../../src/stores/fanout-tasks.js';
import { listFailedTasks } from '../../src/stores/status.js';
import { createInboxStore } from '../../src/wiring/feed.js';
import { createWorkerDeps } from '../../src/wiring/workers.js';
import { oracleFeed } from '../harness/oracle.js';
import { createWorld, type World } from '../harness/world.js';

// A delivery may meet anything twice, late, in the middle or not at all: nothing is lost, and nothing is there twice.

const AUTHOR = 1n;
const READERS = [2n, 3n, 4n, 5n, 6n];
const NEWCOMER = 7n;
const OTHER = 8n;

let world: World;
let queues: Queues;
let deps: WorkerDeps;
beforeAll(async () => {
  world = await createWorld({ FANOUT_PUSH_THRESHOLD: '100', FANOUT_TASKS_PER_CONTENT: '10' });
  ({ queues, deps } = createWorkerDeps(world.app));
});
afterAll(async () => {
  await queues.close();
  await world.close();
});
beforeEach(async () => {
  await world.reset([AUTHOR, ...READERS, NEWCOMER, OTHER]);
  for (const reader of READERS) {
    await follow(reader, AUTHOR);
    await world.read(reader, { first: 5 });
  }
  await world.drain();
});

const as = (userId: bigint) => ({ userId, isAdmin: false });
const follow = (reader: bigint, author: bigint, following = true) =>
  world.social.setFollow(as(reader), author, following);
const query = async (sql: string, values: unknown[] = []) => (await world.app.database.pool.query(sql, values)).rows;
async function publish(author = AUTHOR): Promise<bigint> {
  world.now.ms += 1;
  return (await world.social.publishContent(as(author), { text: 'text' })).contentId;
}
/** Publishes and plans: three tasks of two readers, two and one, each of batches of one. */
async function plan(): Promise<bigint> {
  const contentId = await publish();
  await world.relay();
  await world.dispatchOne();
  return contentId;
}
const fanout = async (contentId: bigint) =>
  (await query('SELECT state, delivered_count FROM fanouts WHERE content_id = $1', [String(contentId)]))[0];
const inboxOf = async (reader: bigint): Promise<bigint[] | null> => {
  const page = await createInboxStore(world.app).read(reader, { from: null, direction: 'older', limit: 100 });
  return page.head && page.entries.map((entry) => entry.contentId);
};
async function expectFeeds(readers = READERS): Promise<void> {
  for (const reader of readers) {
    const page = await world.read(reader, { first: 50 });
    const expected = await oracleFeed(world.app.database.pool, reader, world.now.ms);
    expect(page.edges.map((edge) => edge.contentId)).toEqual(expected.map((entry) => entry.contentId));
  }
}
/** Delivered to all by push, once. */
async function expectDelivered(...contentIds: bigint[]): Promise<void> {
  for (const contentId of contentIds) {
    expect(await fanout(contentId)).toEqual({ state: 'DONE', delivered_count: READERS.length });
  }
  for (const reader of READERS) expect(await inboxOf(reader)).toEqual([...contentIds].reverse());
  await expectFeeds();
}
const jobOf = async (contentId: bigint, taskNo: number) => {
  const job = await queues.pushTasks.getJob(pushTaskJobId(contentId, taskNo));
  if (!job) throw new Error(`no job of task ${taskNo}`);
  return job;
};

describe('twice', () => {
  test('an event consumed twice, at once and after the end, plans nothing twice', async () => {
    const contentId = await publish();
    await world.relay();
    const [job] = await queues.contentEvents.getWaiting();
    const consume = () => handleContentEvent(deps, job!, undefined);
    await Promise.all([consume(), consume()]);
    expect(await query('SELECT task_no FROM fanout_tasks ORDER BY task_no')).toHaveLength(3);
    await world.drain();
    await consume();
    await world.drain();
    await expectDelivered(contentId);
  });

  test('a relay killed between reading and marking moves its events again, and each is delivered once', async () => {
    const contentIds = [await publish(), await publish()];
    const { pool } = world.app.database;
    const dying = Object.create(pool, {
      query: {
        value: (statement: { name?: string }, ...rest: unknown[]) =>
          statement.name === 'events_mark_relayed'
            ? Promise.reject(new Error('killed'))
            : (pool.query as (...args: unknown[]) => unknown).call(pool, statement, ...rest),
      },
    }) as typeof pool;
    await expect(relayEvents({ pool: dying, queues })).rejects.toThrow('killed');
    expect(await queues.contentEvents.getWaitingCount()).toBe(2);
    // The first is even through before the next relay comes.
    await world.dispatchOne();
    expect(await world.relay()).toBe(2);
    expect(await world.relay()).toBe(0);
    await world.drain();
    await expectDelivered(...contentIds);
  });

  test.each([0, 1])(
    'a task that is run twice at once, one of them held after %i batches, counts and delivers each reader once',
    async (batches) => {
      const contentId = await plan();
      const task = readPushTask((await jobOf(contentId, 0)).data);
      let open = (): void => undefined;
      const gate = new Promise<void>((resolve) => (open = resolve));
      let reached = 0;
      const slow: typeof deps.inbox = {
        ...deps.inbox,
        insert: async (...args) => {
          if (reached++ === batches) await gate;
          return deps.inbox.insert(...args);
        },
      };
      const held = executeTask({ ...deps, inbox: slow }, task, () => Promise.resolve());
      while (reached <= batches) await new Promise(setImmediate);
      const progress = () => query('SELECT latest_user_id, delivered_count, state FROM fanout_tasks WHERE task_no = 0');
      // Another executor takes the stalled task and ends it.
      await executeTask(deps, task, () => Promise.resolve());
      const ended = await progress();
      expect(ended).toEqual([{ latest_user_id: String(READERS[1]), delivered_count: 2, state: 'DONE' }]);
      open();
      expect(await held).toMatchObject({ endedFanout: false });
      expect(await progress()).toEqual(ended);
      await world.drain();
      await expectDelivered(contentId);
    },
  );

  test('progress that would go backwards is not saved', async () => {
    const contentId = await plan();
    const { pool } = world.app.database;
    for (const [latestUserId, delivered] of [
      [3n, 2],
      [2n, 1],
      [3n, 1],
    ] as const) {
      await saveTaskProgress(pool, { contentId, taskNo: 0, latestUserId, delivered });
    }
    expect(await query('SELECT latest_user_id, delivered_count FROM fanout_tasks WHERE task_no = 0')).toEqual([
      { latest_user_id: '3', delivered_count: 2 },
    ]);
  });

  test('the id of a job that was completed and is added again runs nothing again', async () => {
    const contentId = await plan();
    await world.drain();
    const { data, opts } = await jobOf(contentId, 0);
    await queues.pushTasks.add('push', data, { ...opts, jobId: pushTaskJobId(contentId, 0) });
    expect(await queues.pushTasks.getJobCountByTypes('wait', 'prioritized', 'delayed')).toBe(0);
    await expectDelivered(contentId);
  });

  test('an authority that has gone back in time gets its tasks done although the queue says that they were', async () => {
    const contentId = await plan();
    await world.drain();
    // What a standby that was behind knows: one task runs, one waits.
    await query(
      `UPDATE fanout_tasks SET state = 'PENDING', latest_user_id = NULL, delivered_count = 0 WHERE task_no > 0`,
    );
    await query(
      `UPDATE fanouts SET state = 'RUNNING', finished_task_count = 1, delivered_count = 2, touched_at = now() - interval '1 hour'`,
    );
    await world.loseInbox(READERS[4]!);
    await expectFeeds();
    expect(await world.sweep()).toEqual({ suspected: 1, replanned: 1, failed: 0 });
    await world.drain();
    expect(await fanout(contentId)).toEqual({ state: 'DONE', delivered_count: READERS.length });
    await expectFeeds();
  });
});

describe('in the middle', () => {
  test.each([0, 1, 2, 3, 4, 5])(
    'an executor that is killed after %i batches in all leaves a task that goes on there: nothing lost, nothing twice',
    async (batches) => {
      const contentId = await plan();
      let left = batches;
      const killed: typeof deps.inbox = {
        ...deps.inbox,
        insert: (...args) => (left-- > 0 ? deps.inbox.insert(...args) : Promise.reject(new Error('killed'))),
      };
      const delivered: bigint[] = [];
      const counting: typeof deps.inbox = {
        ...deps.inbox,
        insert: (readers, entry) => {
          delivered.push(...readers);
          return deps.inbox.insert(readers, entry);
        },
      };
      for (let i = 0; i < 3; i += 1) await world.executeOneAs({}, { inbox: killed });
      await expectFeeds();
      while (await world.executeOneAs({}, { inbox: counting })) continue;
      expect(delivered.sort()).toEqual(READERS.slice(batches));
      await expectDelivered(contentId);
    },
  );

  test('an author who is deleted while being fanned out: no feed shows the post, no job fails, nothing is left over', async () => {
    const contentId = await plan();
    await world.executeOne();
    expect(await inboxOf(READERS[0]!)).toEqual([contentId]);
    await query('DELETE FROM users WHERE id = $1', [String(AUTHOR)]);
    await world.drain();
    await expectFeeds();
    expect(await queues.pushTasks.getJobCountByTypes('wait', 'prioritized', 'delayed', 'failed')).toBe(0);
    expect(await query('SELECT FROM fanout_tasks')).toEqual([]);
  });

  test('an author who is deleted before the plan: the event ends, and nothing is planned', async () => {
    await publish();
    await world.relay();
    await query('DELETE FROM users WHERE id = $1', [String(AUTHOR)]);
    await world.drain();
    await expectFeeds();
    expect(await queues.contentEvents.getJobCountByTypes('wait', 'prioritized', 'delayed', 'failed')).toBe(0);
  });

  test('a follower who joins in the middle, behind or before the plan, has the post at once and afterwards', async () => {
    // The bound stops the plan after two of three tasks.
    const contentId = await publish();
    await world.relay();
    await handleContentEvent(
      { ...deps, tasksPerContent: 2 },
      (await queues.contentEvents.getWaiting())[0]!,
      undefined,
    ).catch(() => undefined);
    expect(await query('SELECT FROM fanout_tasks')).toHaveLength(2);
    for (const newcomer of [NEWCOMER, 0n]) {
      await follow(newcomer, AUTHOR);
      await expectFeeds([newcomer]);
    }
    await world.drain();
    await query(`UPDATE fanouts SET touched_at = now() - interval '1 hour'`);
    await world.sweep();
    await world.drain();
    expect((await fanout(contentId))?.state).toBe('DONE');
    await expectFeeds([...READERS, NEWCOMER, 0n]);
    expect(await inboxOf(NEWCOMER)).toEqual([contentId]);
    expect(await inboxOf(0n)).toEqual([contentId]);
  });

  test('a follower who leaves in the middle does not see the post, before or after it arrives; following again does', async () => {
    const contentId = await plan();
    const last = READERS[4]!;
    await follow(last, AUTHOR, false);
    await expectFeeds();
    await world.drain();
    expect((await fanout(contentId))?.state).toBe('DONE');
    await expectFeeds();
    expect((await world.read(last, { first: 5 })).edges).toEqual([]);
    await follow(last, AUTHOR);
    await expectFeeds();
    await world.drain();
    await expectFeeds();
  });

  test('an inactive reader who follows somebody gets no inbox, neither from the follow nor from a push', async () => {
    await follow(NEWCOMER, AUTHOR);
    await publish();
    await world.drain();
    expect(await inboxOf(NEWCOMER)).toBeNull();
    expect(await world.app.redis.keys(`*:inbox:${NEWCOMER}`)).toEqual([]);
  });
});

describe('a task that cannot be done', () => {
  /** A store that refuses one reader. */
  const refusing = (reader: bigint): typeof deps.inbox => ({
    ...deps.inbox,
    insert: (readers, entry) =>
      readers.includes(reader) ? Promise.reject(new Error('the store refuses')) : deps.inbox.insert(readers, entry),
  });
  async function executeAll(inbox: typeof deps.inbox): Promise<void> {
    for (let i = 0; i < 100 && (await world.executeOneAs({}, { inbox })); i += 1) continue;
  }

  test('ends as failed after its attempts, with its reason for board and status, and holds up nobody', async () => {
    const contentId = await plan();
    await executeAll(refusing(READERS[2]!));
    const job = await jobOf(contentId, 1);
    expect([await job.getState(), job.failedReason, job.attemptsMade]).toEqual(['failed', 'the store refuses', 5]);
    expect(await listFailedTasks(world.app.database.pool, 5)).toEqual([
      { contentId: String(contentId), taskNo: 1, deliveredCount: 0, targetCount: 2, error: 'the store refuses' },
    ]);
    expect((await fanout(contentId))?.state).toBe('FAILED');
    for (const reader of [2n, 3n, 6n]) expect(await inboxOf(reader)).toEqual([contentId]);
    await expectFeeds();
    await query(`UPDATE fanouts SET touched_at = now() - interval '1 hour'`);
    expect(await world.sweep()).toEqual({ suspected: 0, replanned: 0, failed: 0 });
  });

  test.each(['the command', 'the dashboard'])('is delivered after a retry by %s', async (who) => {
    const contentId = await plan();
    await executeAll(refusing(READERS[2]!));
    if (who === 'the dashboard') await (await jobOf(contentId, 1)).retry();
    else expect(await retryFanout({ ...deps, queues }, contentId)).toEqual({ retried: 1, isDone: false });
    await world.drain();
    await expectDelivered(contentId);
    expect(await listFailedTasks(world.app.database.pool, 5)).toEqual([]);
  });

  test('a retry of the command has all attempts again, may be repeated, and tells what is unknown or done', async () => {
    const contentId = await plan();
    await executeAll(refusing(READERS[2]!));
    const retry = () => retryFanout({ ...deps, queues }, contentId);
    expect(await retry()).toEqual({ retried: 1, isDone: false });
    expect(await retry()).toEqual({ retried: 0, isDone: false });
    await executeAll(refusing(READERS[2]!));
    expect((await jobOf(contentId, 1)).attemptsMade).toBe(5);
    expect(await retry()).toEqual({ retried: 1, isDone: false });
    await world.drain();
    expect(await retry()).toEqual({ retried: 0, isDone: true });
    expect(await retryFanout({ ...deps, queues }, 99n)).toBeNull();
    await expectDelivered(contentId);
  });

  test('whose data is bad is recorded by its id, and the command makes it anew from the table', async () => {
    const contentId = await plan();
    const job = await jobOf(contentId, 1);
    await job.updateData({ ...job.data, userIds: ['nobody'] });
    await executeAll(deps.inbox);
    expect((await fanout(contentId))?.state).toBe('FAILED');
    expect((await listFailedTasks(world.app.database.pool, 5))[0]?.error).toContain('userIds');
    await expectFeeds();
    await retryFanout({ ...deps, queues }, contentId);
    await world.drain();
    await expectDelivered(contentId);
  });

  test('keeps its failure and loses nothing when its job is cleaned away and Redis is emptied', async () => {
    const contentId = await plan();
    await executeAll(refusing(READERS[2]!));
    await world.app.redis.flushall();
    await expectFeeds();
    await retryFanout({ ...deps, queues }, contentId);
    await world.drain();
    expect((await fanout(contentId))?.state).toBe('DONE');
    await expectFeeds();
  });

  test('a store that is away, starts or is full is no fault of the task: no attempt is used', async () => {
    const contentId = await plan();
    const reasons = [
      'Connection is closed.',
      'Command timed out',
      'OOM command not allowed',
      'READONLY You can not write',
    ];
    for (const reason of reasons) {
      const away = { ...deps.inbox, insert: () => Promise.reject(new Error(reason)) };
      for (let i = 0; i < 10; i += 1) await world.executeOneAs({}, { inbox: away });
    }
    expect((await jobOf(contentId, 0)).attemptsMade).toBe(0);
    await world.drain();
    await expectDelivered(contentId);
  });
});

describe('two releases side by side', () => {
  test.each([
    ['task', 2],
    ['event', 2],
    ['event', 'content.pinned'],
  ] as const)(
    'a %s of the other one (%s) goes back to the queue, later, with a clear log and no attempt used',
    async (kind, what) => {
      const contentId = await publish();
      await world.relay();
      if (kind === 'task') await world.dispatchOne();
      const job = kind === 'task' ? await jobOf(contentId, 0) : (await queues.contentEvents.getWaiting())[0]!;
      const known = job.data;
      await job.updateData({ ...known, ...(typeof what === 'number' ? { v: what } : { type: what }) } as never);
      const said: unknown[] = [];
      const log = Object.assign(Object.create(deps.log), { warn: (...args: unknown[]) => void said.push(args) });
      const before = Date.now();
      if (kind === 'task') await world.executeOneAs({}, { log });
      else await world.dispatchOneAs({ log });
      expect(await job.getState()).toBe('delayed');
      const [put] = kind === 'task' ? await queues.pushTasks.getDelayed() : await queues.contentEvents.getDelayed();
      expect([put?.id, put?.attemptsMade]).toEqual([job.id, 0]);
      expect(before + (put?.delay ?? 0)).toBeGreaterThanOrEqual(before + 1_000);
      expect(JSON.stringify(said)).toContain(typeof what === 'number' ? 'version 2' : what);
      expect(JSON.stringify(said)).toContain('not known to this release');
      await expectFeeds();
      // The other release reads it, here as what it was.
      await job.updateData(known as never);
      await world.drain();
      await expectDelivered(contentId);
    },
  );
});

describe('order', () => {
  test('a thousand deletes of one author do not hold up the post of another', async () => {
    await follow(READERS[0]!, OTHER);
    for (let i = 0; i < 20; i += 1) await world.social.deleteContent(as(AUTHOR), await publish());
    await world.drain();
    await query(
      `INSERT INTO events (type, author_id, content_id) SELECT 'content.deleted', 1, id FROM contents, generate_series(1, 50)`,
    );
    const contentId = await publish(OTHER);
    while ((await world.relay()) > 0) continue;
    expect(await queues.contentEvents.getPrioritizedCount()).toBe(1_000);
    await world.dispatchOne();
    expect((await fanout(contentId))?.state).toBe('RUNNING');
    await queues.contentEvents.drain(true);
  });
});
