import type { PushTaskPayload } from '../jobs/catalog.js';
import type { Pool } from '../stores/database.js';
import { findTask, finishTask, saveTaskProgress } from '../stores/fanout-tasks.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';

export interface ExecuteDeps {
  readonly pool: Pool;
  readonly inbox: Pick<InboxStore, 'name' | 'insert'>;
  readonly batchSize: number;
}

export interface TaskReport {
  readonly delivered: number;
  readonly absent: number;
  /** True when this was the last task of its content. */
  readonly endedFanout: boolean;
}

/** Not the task's fault: it waits for a worker of the right kind. */
export class WrongStoreError extends Error {}

/**
 * Delivers one task in batches. After each batch the latest user id is saved, so that a retry goes on behind it; a batch
 * whose save was lost is delivered again, which an inbox does not notice.
 */
export async function executeTask(
  deps: ExecuteDeps,
  task: PushTaskPayload,
  onProgress: (percent: number) => Promise<void>,
): Promise<TaskReport> {
  const contentId = BigInt(task.contentId);
  const entry = { publishTime: task.publishTime, contentId };
  const known = await findTask(deps.pool, contentId, task.taskNo);
  let delivered = 0;
  let absent = 0;
  if (!known || known.state === 'DONE') return { delivered, absent, endedFanout: false };
  if (known.inboxStore !== deps.inbox.name) {
    // Its inboxes are not those that readers read; a worker of the right kind, or a restart, will take the job.
    throw new WrongStoreError(`this worker writes to ${deps.inbox.name}, readers read ${known.inboxStore}`);
  }
  const userIds = task.userIds.map(BigInt).filter((id) => known.latestUserId === null || id > known.latestUserId);
  for (let from = 0; from < userIds.length; from += deps.batchSize) {
    const batch = userIds.slice(from, from + deps.batchSize);
    const result = await deps.inbox.insert(batch, entry);
    delivered += result.delivered;
    absent += result.absent;
    const latestUserId = batch.at(-1) as bigint;
    await saveTaskProgress(deps.pool, { contentId, taskNo: task.taskNo, latestUserId, delivered: batch.length });
    await onProgress(Math.round((100 * (from + batch.length)) / userIds.length));
  }
  return { delivered, absent, endedFanout: await finishTask(deps.pool, contentId, task.taskNo) };
}
