import { pushTaskJobId, pushTaskOptions } from '../jobs/catalog.js';
import type { Queues } from '../jobs/queues.js';
import type { Pool } from '../stores/database.js';
import type { FanoutTask } from '../stores/fanout-tasks.js';
import type { Fanout } from '../stores/fanouts.js';
import { walkFollowers } from '../stores/follower-walk.js';

export interface QueueTaskDeps {
  readonly queues: Pick<Queues, 'pushTasks'>;
  /** FANOUT_ATTEMPTS. */
  readonly attempts: number;
}

/** Adding a task that is queued already changes nothing. */
export async function queueTask(
  deps: QueueTaskDeps,
  fanout: Pick<Fanout, 'contentId' | 'publishTime'>,
  task: { readonly taskNo: number; readonly userIds: readonly bigint[]; readonly priority: number },
): Promise<void> {
  const { contentId, publishTime } = fanout;
  const { taskNo, userIds, priority } = task;
  await deps.queues.pushTasks.add(
    'push',
    { v: 1, contentId: String(contentId), publishTime, taskNo, userIds: userIds.map(String) },
    { ...pushTaskOptions(deps.attempts), jobId: pushTaskJobId(contentId, taskNo), priority },
  );
}

/**
 * Queues a saved task whose job may be lost. One that ended well although its task did not (the authority went back in
 * time) makes room for a new one; one that failed is left to whoever records it. Targets are walked again: whoever followed or came back since is
 * covered by a seq, and whoever left is filtered at read, so the walk may differ from the first one. It has no limit,
 * because a first target must not fall behind newcomers.
 */
export async function requeueTask(
  deps: QueueTaskDeps & { readonly pool: Pool; readonly chunkSize: number },
  fanout: Fanout,
  task: FanoutTask,
  { activeSince, priority }: { readonly activeSince: number; readonly priority: number },
): Promise<void> {
  if ((await readJobState(deps.queues, task)) !== 'missing') return;
  const { userIds } = await walkFollowers(deps.pool, {
    authorId: fanout.authorId,
    afterUserId: task.latestUserId ?? task.firstUserId - 1n,
    throughUserId: task.lastUserId,
    activeSince,
    targetsMax: Infinity,
    pageSize: deps.chunkSize,
    pagesMax: Infinity,
  });
  await deps.queues.pushTasks.remove(pushTaskJobId(fanout.contentId, task.taskNo));
  await queueTask(deps, fanout, {
    taskNo: task.taskNo,
    userIds: userIds.length > 0 ? userIds : [task.lastUserId],
    priority,
  });
}

/** `queued`: waits, runs, or waits for its next attempt. */
export type JobState = { readonly failedReason: string } | 'queued' | 'missing';

/** What the queue knows of an unfinished task. A job that ended well although its task did not is as good as none. */
export async function readJobState(
  queues: Pick<Queues, 'pushTasks'>,
  task: Pick<FanoutTask, 'contentId' | 'taskNo'>,
): Promise<JobState> {
  const job = await queues.pushTasks.getJob(pushTaskJobId(task.contentId, task.taskNo));
  if (!job) return 'missing';
  const state = await job.getState();
  if (state === 'failed') return { failedReason: job.failedReason };
  return state === 'completed' || state === 'unknown' ? 'missing' : 'queued';
}
