import { DelayedError, Worker, type Job } from 'bullmq';
import { messageOf } from '../domain/errors.js';
import { contentEventPayload, CONTENT_EVENT_QUEUE, PUSH_QUEUE, pushTaskPayload } from '../jobs/catalog.js';
import { queuePrefix } from '../jobs/queues.js';
import type { Logger } from '../log.js';
import { failTask, findFanout } from '../stores/fanouts.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';
import type { RedisClient } from '../stores/redis.js';
import { executeTask, type ExecuteDeps, type TaskReport } from './execute-task.js';
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

/** The dispatcher consumes content events. */
export const startDispatcher = (deps: WorkerDeps): Worker =>
  startWorker(deps, CONTENT_EVENT_QUEUE, deps.dispatcherConcurrency, (job, token) =>
    handleContentEvent(deps, job, token),
  );

/** The executor delivers chunk tasks. */
export const startExecutor = (deps: WorkerDeps): Worker =>
  startWorker(deps, PUSH_QUEUE, deps.executorConcurrency, (job) => handlePushTask(deps, job));

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

/** A task that fails for the last time is recorded as failed, and kept; its content stays in flight. */
export async function handlePushTask(deps: WorkerDeps, job: Job): Promise<TaskReport> {
  const task = pushTaskPayload.parse(job.data);
  try {
    const report = await executeTask(deps, task, (percent) => job.updateProgress(percent));
    deps.metrics.deliveries.inc(report.delivered);
    if (report.endedFanout) deps.metrics.publishToDelivered.observe((deps.clock() - task.publishTime) / 1000);
    return report;
  } catch (error) {
    const isLast = job.attemptsMade + 1 >= (job.opts.attempts ?? 1);
    if (isLast) await failTask(deps.pool, BigInt(task.contentId), task.taskNo, messageOf(error));
    throw error;
  }
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
  });
  worker.on('failed', (job, error) => {
    deps.log.warn({ queue, jobId: job?.id, attempt: job?.attemptsMade, error: error.message }, 'job failed');
  });
  worker.on('error', (error) => {
    deps.log.warn({ queue, error: error.message }, 'worker');
  });
  return worker;
}
