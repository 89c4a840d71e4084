import { Worker, type Job } from 'bullmq';
import { messageOf } from '../domain/errors.js';
import { CONTENT_EVENT_QUEUE, PUSH_QUEUE } from '../jobs/catalog.js';
import { queuePrefix } from '../jobs/queues.js';
import type { Logger } from '../log.js';
import type { RedisClient } from '../stores/redis.js';
import { handleContentEvent, type EventDeps } from './handle-content-event.js';
import { handlePushTask, recordFailure, type TaskDeps } from './handle-push-task.js';

export interface WorkerDeps extends EventDeps, TaskDeps {
  readonly connection: RedisClient;
  readonly keyPrefix: string;
  readonly dispatcherConcurrency: number;
  readonly executorConcurrency: number;
  /** JOB_LOCK_MS: a job whose worker has not been heard of for so long is given to another one. */
  readonly lockMs: number;
  /** How long running jobs may take to end when the process stops. */
  readonly drainMs: number;
  readonly log: Logger;
}

export interface RunningWorker {
  /** Lets running batches end and hands over the rest: other workers go on at once. */
  close(): Promise<void>;
}

const HAND_OVER_MS = 1_000;

/** The longest pause between two attempts of a job. */
const BACKOFF_MAX_MS = 60_000;

/** The dispatcher consumes content events. */
export const startDispatcher = (deps: WorkerDeps): RunningWorker =>
  startWorker(deps, CONTENT_EVENT_QUEUE, deps.dispatcherConcurrency, (job, token, stop) =>
    handleContentEvent({ ...deps, stop }, job, token),
  ).running;

/** The executor delivers chunk tasks. */
export function startExecutor(deps: WorkerDeps): RunningWorker {
  const { worker, running } = startWorker(deps, PUSH_QUEUE, deps.executorConcurrency, (job, token, stop) =>
    handlePushTask({ ...deps, stop }, job, token),
  );
  worker.on('failed', (job, error) => {
    if (!job?.finishedOn) return;
    recordFailure(deps, job, error).catch((cause: unknown) => {
      // The sweep finds it later (sweep-fanouts.ts).
      deps.log.error({ error: messageOf(cause), jobId: job.id }, 'a failed task could not be recorded');
    });
  });
  return running;
}

function startWorker(
  deps: WorkerDeps,
  queue: string,
  concurrency: number,
  handle: (job: Job, token: string | undefined, stop: AbortSignal) => Promise<unknown>,
): { worker: Worker; running: RunningWorker } {
  const stop = new AbortController();
  const held = new Map<Job, string | undefined>();
  const worker = new Worker(
    queue,
    async (job, token) => {
      held.set(job, token);
      try {
        return await handle(job, token, stop.signal);
      } finally {
        held.delete(job);
      }
    },
    {
      connection: deps.connection,
      prefix: queuePrefix(deps.keyPrefix),
      concurrency,
      lockDuration: deps.lockMs,
      stalledInterval: deps.lockMs,
      // A worker killed in a job leaves it stalled; progress is saved, so being started again is harmless.
      maxStalledCount: 10,
      settings: { backoffStrategy: (attempt) => Math.min(BACKOFF_MAX_MS, 200 * 2 ** Math.min(attempt, 20)) },
    },
  );
  worker.on('failed', (job, error) => {
    deps.log.warn({ queue, jobId: job?.id, attempt: job?.attemptsMade, error: error.message }, 'job failed');
  });
  worker.on('error', (error) => {
    deps.log.warn({ queue, error: error.message }, 'worker');
  });
  return {
    worker,
    running: {
      async close() {
        stop.abort();
        const ended = worker.close();
        if (await isSettledWithin(deps.drainMs, ended)) return;
        // What hangs may still write: that is harmless, as whatever runs twice.
        for (const [job, token] of held) await handOver(deps.log, job, token);
      },
    },
  };
}

async function isSettledWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, ms, false)));
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Without it a job waits until its lock has run out; so it does when Redis is away too. */
async function handOver(log: Logger, job: Job, token: string | undefined): Promise<void> {
  try {
    if (!(await isSettledWithin(HAND_OVER_MS, job.moveToDelayed(Date.now(), token)))) throw new Error('no answer');
    log.warn({ queue: job.queueName, jobId: job.id }, 'job handed over before its batch ended');
  } catch (error) {
    log.warn({ queue: job.queueName, jobId: job.id, error: messageOf(error) }, 'job could not be handed over');
  }
}
