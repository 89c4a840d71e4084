import type { PushTaskPayload } from '../jobs/catalog.js';
import type { Pool } from '../stores/database.js';
import { findTask, finishTask, saveTaskProgress, type FanoutTask } from '../stores/fanout-tasks.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';
import type { AuthorShares } from './author-shares.js';
import { PutBackError } from './put-back.js';

export interface ExecuteDeps {
  readonly pool: Pool;
  readonly inbox: Pick<InboxStore, 'name' | 'insert'>;
  readonly batchSize: number;
  readonly shares: AuthorShares;
  /** Aborted when the process stops: a task is handed over after its batch then. */
  readonly stop?: AbortSignal;
}

export interface TaskReport {
  readonly delivered: number;
  readonly absent: number;
  /** True when this was the last task of its content. */
  readonly endedFanout: boolean;
}

/** A task for a worker of the right kind is tried again after this; one beyond its author's share after that. */
const WRONG_STORE_PAUSE_MS = 1_000;
const SHARE_PAUSE_MS = 200;

const NOTHING: TaskReport = { delivered: 0, absent: 0, endedFanout: false };

/**
 * Delivers one task in batches. After each batch the latest user id is saved, so that a retry goes on behind it; a batch
 * whose save was lost is delivered again, which an inbox does not notice.
 * @throws PutBackError when somebody else has to do it, or this process later.
 */
export async function executeTask(
  deps: ExecuteDeps,
  task: PushTaskPayload,
  onProgress: (percent: number) => Promise<void>,
): Promise<TaskReport> {
  const known = await findTask(deps.pool, BigInt(task.contentId), task.taskNo);
  if (!known || known.state === 'DONE') return NOTHING;
  // A job of a content that is gone, whose id names another one since: that one's own job delivers it, if need be after
  // the sweep has found it missing.
  if (known.publishTime !== task.publishTime) return NOTHING;
  if (known.inboxStore !== deps.inbox.name) {
    // Its inboxes are not those that readers read; a worker of the right kind, or a restart, will take the job.
    const message = `this worker writes to ${deps.inbox.name}, readers read ${known.inboxStore}`;
    throw new PutBackError(message, WRONG_STORE_PAUSE_MS);
  }
  const leave = deps.shares.enter(known.authorId);
  if (!leave) throw new PutBackError('its author has a share of this process already', SHARE_PAUSE_MS, false);
  try {
    return await deliver(deps, task, known, onProgress);
  } finally {
    leave();
  }
}

async function deliver(
  deps: ExecuteDeps,
  { contentId: id, publishTime, taskNo, userIds: targets }: PushTaskPayload,
  known: FanoutTask,
  onProgress: (percent: number) => Promise<void>,
): Promise<TaskReport> {
  const contentId = BigInt(id);
  const userIds = targets.map(BigInt).filter((id) => known.latestUserId === null || id > known.latestUserId);
  let delivered = 0;
  let absent = 0;
  for (let from = 0; from < userIds.length; from += deps.batchSize) {
    if (deps.stop?.aborted) throw new PutBackError('this process stops', 0);
    const batch = userIds.slice(from, from + deps.batchSize);
    const result = await deps.inbox.insert(batch, { publishTime, contentId });
    delivered += result.delivered;
    absent += result.absent;
    const latestUserId = batch.at(-1) as bigint;
    const reached = from + batch.length;
    // Counted from what was known at the start, so that a task that runs twice at once counts nobody twice.
    const counted = known.deliveredCount + reached;
    await saveTaskProgress(deps.pool, { contentId, taskNo, latestUserId, delivered: counted });
    await onProgress(Math.round((100 * reached) / userIds.length));
  }
  return { delivered, absent, endedFanout: await finishTask(deps.pool, contentId, taskNo) };
}
