import { pushTaskJobId } from '../jobs/catalog.js';
import type { Queues } from '../jobs/queues.js';
import { inTransaction } from '../stores/database.js';
import { resetFailedTasks } from '../stores/fanout-tasks.js';
import { findFanout } from '../stores/fanouts.js';
import { lockFeedState } from '../stores/feed-state.js';
import { activeSince, priorityOf, type PlanDeps } from './plan-fanout.js';
import { requeueTask } from './queue-task.js';
import { planAgain } from './sweep-fanouts.js';

export interface RetryReport {
  /** Failed tasks that are queued again. */
  readonly retried: number;
  /** True when nothing is left to deliver. */
  readonly isDone: boolean;
}

/**
 * Queues the failed tasks of a content anew, each with all its attempts and with a job made from the table: one that
 * failed for its bad data works then. Also plans again what else is missing. Null for an unknown content. Safe to repeat;
 * a process that dies in the middle leaves waiting tasks, which the sweep finds.
 */
export async function retryFanout(
  deps: Pick<PlanDeps, 'pool' | 'clock' | 'chunkSize' | 'attempts'> & { readonly queues: Queues },
  contentId: bigint,
): Promise<RetryReport | null> {
  const fanout = await findFanout(deps.pool, contentId);
  if (!fanout) return null;
  if (fanout.state === 'DONE') return { retried: 0, isDone: true };
  const tasks = await resetFailedTasks(deps.pool, contentId);
  const windows = await inTransaction(deps.pool, lockFeedState);
  const priority = await priorityOf(deps, fanout.authorId);
  for (const task of tasks) {
    await deps.queues.pushTasks.remove(pushTaskJobId(contentId, task.taskNo));
    await requeueTask(deps, fanout, task, { activeSince: activeSince(deps, fanout.mode, windows), priority });
  }
  await planAgain(deps.queues, fanout);
  return { retried: tasks.length, isDone: false };
}
