import type { Clock } from '../domain/clock.js';
import { ID_MAX } from '../domain/ids.js';
import { ACTIVITY_MARGIN_MS, chooseDeliveryMode, deliveryPriority, type DeliveryMode } from '../domain/push-policy.js';
import { pushTaskJobId, pushTaskOptions } from '../jobs/catalog.js';
import type { Queues } from '../jobs/queues.js';
import { inTransaction, type Pool, type Queryable } from '../stores/database.js';
import {
  findFanout,
  listTargets,
  listWaitingTasks,
  lockFanout,
  readAuthor,
  recordDeliveryMode,
  savePlanEnd,
  savePlannedTask,
  type Fanout,
} from '../stores/fanouts.js';
import { lockFeedState } from '../stores/feed-state.js';
import type { ActivityWindows } from '../stores/activity.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';

export interface PlanDeps {
  readonly pool: Pool;
  readonly queues: Pick<Queues, 'pushTasks'>;
  /** Projections of big accounts' outboxes. */
  readonly outboxes: Pick<InboxStore, 'insert'>;
  readonly clock: Clock;
  readonly windows: ActivityWindows;
  readonly threshold: number;
  readonly chunkSize: number;
  readonly tasksPerContent: number;
  readonly tasksTotal: number;
  readonly attempts: number;
}

/** The greatest value of a Postgres integer. */
const NO_LIMIT = 2 ** 31 - 1;

/** `queuedTasks`: tasks below this number are in the queue. */
export interface PlanProgress {
  readonly queuedTasks: number;
  /** False: the bound on outstanding tasks is reached; go on later. */
  readonly isPlanned: boolean;
}

/**
 * Cuts one content's followers into tasks. Each task is saved together with how far the plan has come, then queued; so
 * a plan that died goes on behind the last saved task, and queues again those that it may not have queued.
 * `queuedTasks` is what an earlier run of the same job reported.
 */
export async function planFanout(deps: PlanDeps, contentId: bigint, queuedTasks: number): Promise<PlanProgress> {
  const known = await findFanout(deps.pool, contentId);
  if (!known || known.state === 'DONE') return { queuedTasks, isPlanned: true };
  await requeueTasks(deps, known, queuedTasks);
  for (let queued = Math.max(queuedTasks, known.taskCount); ; queued += 1) {
    if (!(await hasRoom(deps, contentId))) return { queuedTasks: queued, isPlanned: false };
    const step = await planTask(deps, contentId);
    if (!step) return { queuedTasks: queued, isPlanned: true };
    await queueTask(deps, step.fanout, step.taskNo, step.userIds);
    if (step.isLast) return { queuedTasks: queued + 1, isPlanned: true };
  }
}

/** One task in one transaction; null when there was nothing left to plan. */
function planTask(deps: PlanDeps, contentId: bigint) {
  return inTransaction(deps.pool, async (client) => {
    const locked = await lockFanout(client, contentId);
    if (!locked || locked.isPlanned) return null;
    const fanout = locked.mode ? locked : await chooseMode(deps, client, locked);
    const userIds =
      fanout.mode === 'NOBODY'
        ? []
        : await listTargets(client, {
            authorId: fanout.authorId,
            afterUserId: fanout.plannedThrough,
            throughUserId: ID_MAX,
            activeSince: activeSince(deps, fanout.mode),
            limit: deps.chunkSize,
          });
    const taskNo = fanout.taskCount;
    if (userIds.length > 0) await savePlannedTask(client, { contentId, taskNo, userIds });
    const isLast = userIds.length < deps.chunkSize;
    if (isLast) {
      await projectContent(deps, client, fanout);
      await savePlanEnd(client, contentId);
    }
    return userIds.length > 0 ? { fanout, taskNo, userIds, isLast } : null;
  });
}

/**
 * A content that readers may pull is in its author's projection, where there is one, before it leaves the in-flight list,
 * whatever its mode. The author's flag is read in the transaction that ends the plan: a projection that is begun later
 * pulls later, and sees the content.
 */
async function projectContent(deps: PlanDeps, client: Queryable, fanout: Fanout): Promise<void> {
  const { authorId, publishTime, contentId } = fanout;
  const { isPulled } = await readAuthor(client, authorId);
  if (isPulled) await deps.outboxes.insert([authorId], { publishTime, contentId });
}

/** Chosen once and recorded, under the epoch in force. */
async function chooseMode(deps: PlanDeps, client: Queryable, fanout: Fanout): Promise<Fanout> {
  const { feedMode, epoch } = await lockFeedState(client);
  const mode = chooseDeliveryMode(feedMode, (await readAuthor(client, fanout.authorId)).followerCount, deps.threshold);
  await recordDeliveryMode(client, fanout, mode, epoch);
  return { ...fanout, mode, epoch };
}

/** Dormant readers are skipped in both modes; the margin is explained in domain/push-policy.ts. */
const activeSince = (deps: PlanDeps, mode: DeliveryMode | null): number =>
  deps.clock() - (mode === 'ACTIVE_FOLLOWERS' ? deps.windows.activeMs : deps.windows.dormantMs) - ACTIVITY_MARGIN_MS;

/** Outstanding tasks are bounded per content and in all, so that a post with ten million followers cannot fill Redis. */
async function hasRoom(deps: PlanDeps, contentId: bigint): Promise<boolean> {
  const fanout = await findFanout(deps.pool, contentId);
  if (!fanout) return true;
  const outstanding = fanout.taskCount - fanout.finishedTaskCount - fanout.failedTaskCount;
  if (outstanding === 0) return true;
  if (outstanding >= deps.tasksPerContent) return false;
  const counts = await deps.queues.pushTasks.getJobCounts('wait', 'prioritized', 'active', 'delayed');
  return Object.values(counts).reduce((sum, n) => sum + n, 0) < deps.tasksTotal;
}

async function queueTask(deps: PlanDeps, fanout: Fanout, taskNo: number, userIds: readonly bigint[]): Promise<void> {
  const priority = deliveryPriority((await readAuthor(deps.pool, fanout.authorId)).followerCount);
  const { contentId, publishTime } = fanout;
  await deps.queues.pushTasks.add(
    'push',
    { v: 1, contentId: String(contentId), publishTime, taskNo, userIds: userIds.map(String) },
    { ...pushTaskOptions(deps.attempts), jobId: pushTaskJobId(contentId, taskNo), priority },
  );
}

/**
 * Queues saved tasks that may not be queued. Targets are walked again: whoever followed or came back since is covered by
 * a seq, and whoever left is filtered at read, so the walk may differ from the first one. It has no limit, because a
 * first target must not fall behind newcomers. Adding a known job changes nothing.
 */
async function requeueTasks(deps: PlanDeps, fanout: Fanout, fromTaskNo: number): Promise<void> {
  if (fanout.taskCount <= fromTaskNo) return;
  for (const task of await listWaitingTasks(deps.pool, fanout.contentId, fromTaskNo)) {
    const userIds = await listTargets(deps.pool, {
      authorId: fanout.authorId,
      afterUserId: task.latestUserId ?? task.firstUserId - 1n,
      throughUserId: task.lastUserId,
      activeSince: activeSince(deps, fanout.mode),
      limit: NO_LIMIT,
    });
    await queueTask(deps, fanout, task.taskNo, userIds.length > 0 ? userIds : [task.lastUserId]);
  }
}
