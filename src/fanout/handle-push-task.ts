import type { Job } from 'bullmq';
import type { Clock } from '../domain/clock.js';
import { readPushTask, readPushTaskJobId } from '../jobs/catalog.js';
import type { Logger } from '../log.js';
import type { Pool } from '../stores/database.js';
import { failTask } from '../stores/fanout-tasks.js';
import { executeTask, type ExecuteDeps, type TaskReport } from './execute-task.js';
import { puttingBack } from './put-back.js';

export interface TaskDeps extends ExecuteDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly metrics: {
    readonly deliveries: { inc(count: number): void };
    readonly publishToDelivered: { observe(seconds: number): void };
  };
}

/** A task that fails for the last time is recorded as failed, and kept; its content stays in flight. */
export const handlePushTask = (deps: TaskDeps, job: Job, token: string | undefined): Promise<TaskReport> =>
  puttingBack(deps.log, job, token, async () => {
    const task = readPushTask(job.data);
    // Progress is for the dashboard; a job that was removed there is delivered all the same.
    const report = await executeTask(deps, task, (percent) => job.updateProgress(percent).catch(() => undefined));
    deps.metrics.deliveries.inc(report.delivered);
    if (report.endedFanout) deps.metrics.publishToDelivered.observe((deps.clock() - task.publishTime) / 1000);
    return report;
  });

/**
 * Also for jobs that failed without their handler (stalled too often), or whose payload cannot be read: the id names the
 * task. Safe to repeat.
 */
export async function recordFailure(deps: { readonly pool: Pool }, job: Job, error: Error): Promise<void> {
  const task = readPushTaskJobId(job.id ?? '');
  if (task) await failTask(deps.pool, task.contentId, task.taskNo, error.message);
}
