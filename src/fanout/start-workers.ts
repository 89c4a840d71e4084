import { DelayedError, Worker, type Job } from 'bullmq';
import { messageOf } from '../domain/errors.js';
import { contentEventPayload, CONTENT_EVENT_QUEUE, PUSH_QUEUE, pushTaskPayload } from '../jobs/catalog.js';
import { queuePrefix } from '../jobs/queues.js';
import type { Logger } from '../log.js';
import { isDatabaseAway } from '../stores/database-away.js';
import { failTask } from '../stores/fanout-tasks.js';
import { findFanout } from '../stores/fanouts.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';
import type { RedisClient } from '../stores/redis.js';
import { executeTask, WrongStoreError, type ExecuteDeps, type TaskReport } from './execute-task.js';
import { planFanout, type PlanDeps } from './plan-fanout.js';

export interface WorkerDeps extends PlanDeps, ExecuteDeps {
  readonly outboxes: Pick<InboxStore, 'insert' | 'remove'>;
  readonly connection: RedisClient;
  readonly keyPrefix: string;
  readonly dispatcherConcurrency: number;
  readonly executorConcurrency: number;
  readonly log: Logger;
  /** A content was deleted or changed who may see it: caches everywhere must let go of it. */
  readonly onContentChanged: (contentId: bigint) => Promise<void>;
  readonly metrics: {
    readonly deliveries: { inc(count: number): void };
    readonly publishToDelivered: { observe(seconds: number): void };
  };
}

/** A plan that reached the bound on outstanding tasks looks again after this. */
const PLAN_PAUSE_MS = 50;

/** A task that was put back is tried again after this. */
const TASK_PAUSE_MS = 1_000;

/** The longest pause between two attempts of a job. */
const BACKOFF_MAX_MS = 60_000;

/** The dispatcher consumes content events. */
export const startDispatcher = (deps: WorkerDeps): Worker =>
  startWorker(deps, CONTENT_EVENT_QUEUE, deps.dispatcherConcurrency, (job, token) =>
    handleContentEvent(deps, job, token),
  );

/** The executor delivers chunk tasks. */
export function startExecutor(deps: WorkerDeps): Worker {
  const worker = startWorker(deps, PUSH_QUEUE, deps.executorConcurrency, (job, token) =>
    handlePushTask(deps, job, token),
  );
  worker.on('failed', (job, error) => {
    if (!job?.finishedOn) return;
    recordFailure(deps, job, error).catch((cause: unknown) => {
      // The sweep finds it later (sweep-fanouts.ts).
      deps.log.error({ error: messageOf(cause), jobId: job.id }, 'a failed task could not be recorded');
    });
  });
  return worker;
}

/** A publication is planned; every other change is announced. A plan that must wait comes back as a delayed job. */
export async function handleContentEvent(deps: WorkerDeps, job: Job, token: string | undefined): Promise<void> {
  const event = contentEventPayload.parse(job.data);
  const contentId = BigInt(event.contentId);
  if (event.type !== 'content.published') {
    await deps.onContentChanged(contentId);
    if (event.type === 'content.deleted') await forgetProjection(deps, contentId);
    return;
  }
  const progress = await planFanout(deps, contentId, event.queuedTasks);
  const fanout = await findFanout(deps.pool, contentId);
  await job.updateProgress({ plannedTasks: fanout?.taskCount ?? 0, targets: fanout?.targetCount ?? 0 });
  if (progress.isPlanned) return;
  await job.updateData({ ...event, queuedTasks: progress.queuedTasks });
  await job.moveToDelayed(Date.now() + PLAN_PAUSE_MS, token);
  throw new DelayedError();
}

/** Readers filter deleted contents anyway; this spares them the work. */
async function forgetProjection(deps: WorkerDeps, contentId: bigint): Promise<void> {
  const fanout = await findFanout(deps.pool, contentId);
  if (fanout) await deps.outboxes.remove(fanout.authorId, [fanout], null);
}

/**
 * A task that fails for the last time is recorded as failed, and kept; its content stays in flight. What is not the task's
 * fault (the authority is away, a worker of another deployment took it) uses up no attempt.
 */
export async function handlePushTask(deps: WorkerDeps, job: Job, token: string | undefined): Promise<TaskReport> {
  const task = pushTaskPayload.parse(job.data);
  try {
    // Progress is for the dashboard; a job that was removed there is delivered all the same.
    const report = await executeTask(deps, task, (percent) => job.updateProgress(percent).catch(() => undefined));
    deps.metrics.deliveries.inc(report.delivered);
    if (report.endedFanout) deps.metrics.publishToDelivered.observe((deps.clock() - task.publishTime) / 1000);
    return report;
  } catch (error) {
    if (isDatabaseAway(error) || error instanceof WrongStoreError) {
      deps.log.warn({ error: messageOf(error), jobId: job.id }, 'task put back');
      await job.moveToDelayed(Date.now() + TASK_PAUSE_MS, token);
      throw new DelayedError();
    }
    throw error;
  }
}

/** Also for jobs that failed without their handler: stalled too often. Safe to repeat. */
export async function recordFailure(deps: WorkerDeps, job: Job, error: Error): Promise<void> {
  const task = pushTaskPayload.safeParse(job.data);
  if (task.success) await failTask(deps.pool, BigInt(task.data.contentId), task.data.taskNo, error.message);
}

function startWorker(
  deps: WorkerDeps,
  queue: string,
  concurrency: number,
  handle: (job: Job, token: string | undefined) => Promise<unknown>,
): Worker {
  const worker = new Worker(queue, handle, {
    connection: deps.connection,
    prefix: queuePrefix(deps.keyPrefix),
    concurrency,
    // A worker killed in a job leaves it stalled; progress is saved, so being started again is harmless.
    maxStalledCount: 10,
    settings: { backoffStrategy: (attempt) => Math.min(BACKOFF_MAX_MS, 200 * 2 ** Math.min(attempt, 20)) },
  });
  worker.on('failed', (job, error) => {
    deps.log.warn({ queue, jobId: job?.id, attempt: job?.attemptsMade, error: error.message }, 'job failed');
  });
  worker.on('error', (error) => {
    deps.log.warn({ queue, error: error.message }, 'worker');
  });
  return worker;
}
