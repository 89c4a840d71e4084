import type { Clock } from '../domain/clock.js';
import { ID_MAX } from '../domain/ids.js';
import {
  ACTIVITY_MARGIN_MS,
  chooseDeliveryMode,
  deliveryPriority,
  type ActivityWindows,
  type DeliveryMode,
} from '../domain/push-policy.js';
import { pushTaskJobId, pushTaskOptions } from '../jobs/catalog.js';
import type { Queues } from '../jobs/queues.js';
import { listWaitingTasks } from '../stores/fanout-tasks.js';
import { inTransaction, type Pool, type Queryable } from '../stores/database.js';
import {
  findFanout,
  lockAuthorRow,
  lockFanout,
  readAuthor,
  recordDeliveryMode,
  savePlanEnd,
  savePlannedTask,
  savePlanPosition,
  type Author,
  type Fanout,
} from '../stores/fanouts.js';
import { walkFollowers } from '../stores/follower-walk.js';
import { lockFeedState, type FeedState } from '../stores/feed-state.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';

export interface PlanDeps {
  readonly pool: Pool;
  readonly queues: Pick<Queues, 'pushTasks'>;
  /** Projections of big accounts' outboxes. */
  readonly outboxes: Pick<InboxStore, 'insert'>;
  readonly clock: Clock;
  readonly threshold: number;
  readonly chunkSize: number;
  readonly tasksPerContent: number;
  readonly tasksTotal: number;
  readonly attempts: number;
}

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
  for (let queued = Math.max(queuedTasks, known.taskCount); ;) {
    if (!(await hasRoom(deps, contentId))) return { queuedTasks: queued, isPlanned: false };
    const step = await planTask(deps, contentId);
    if (step && step.userIds.length > 0) {
      await queueTask(deps, step.fanout, step.taskNo, step.userIds);
      queued = step.taskNo + 1;
    }
    if (!step || step.isLast) return { queuedTasks: queued, isPlanned: true };
  }
}

/** One task in one transaction; null when there was nothing left to plan. */
function planTask(deps: PlanDeps, contentId: bigint) {
  return inTransaction(deps.pool, async (client) => {
    const locked = await lockFanout(client, contentId);
    if (!locked || locked.isPlanned) return null;
    // The author before the policy: the order in which imports lock them.
    const author = locked.mode ? null : await lockAuthorRow(client, locked.authorId);
    const policy = await lockFeedState(client);
    const fanout = author ? await chooseMode(deps, client, locked, author, policy) : locked;
    const walk = await walkFollowers(client, {
      authorId: fanout.authorId,
      afterUserId: fanout.plannedThrough,
      throughUserId: ID_MAX,
      activeSince: activeSince(deps, fanout.mode, policy),
      targetsMax: fanout.mode === 'NOBODY' ? 0 : deps.chunkSize,
      pageSize: deps.chunkSize,
      pagesMax: WALK_PAGES_MAX,
    });
    const task = { fanout, taskNo: fanout.taskCount, userIds: walk.userIds, isLast: walk.isEnd };
    if (walk.userIds.length > 0)
      await savePlannedTask(client, { contentId, ...task, throughUserId: walk.throughUserId });
    else if (!walk.isEnd) await savePlanPosition(client, contentId, walk.throughUserId);
    if (walk.isEnd) {
      await projectContent(deps, client, fanout);
      await savePlanEnd(client, contentId);
    }
    return task;
  });
}

/** Followers of a sparse audience are walked in small transactions too: a plan holds locks for some 100 ms at most. */
const WALK_PAGES_MAX = 20;

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

/** Chosen once and recorded, under the policy in force. */
async function chooseMode(
  deps: PlanDeps,
  client: Queryable,
  fanout: Fanout,
  author: Author,
  { feedMode, epoch }: FeedState,
): Promise<Fanout> {
  const mode = chooseDeliveryMode(feedMode, author.followerCount, deps.threshold);
  await recordDeliveryMode(client, fanout, mode, epoch);
  return { ...fanout, mode, epoch };
}

/** Dormant readers are skipped in both modes; the margin is explained in domain/push-policy.ts. */
const activeSince = (deps: PlanDeps, mode: DeliveryMode | null, windows: ActivityWindows): number =>
  deps.clock() - (mode === 'ACTIVE_FOLLOWERS' ? windows.activeMs : windows.dormantMs) - ACTIVITY_MARGIN_MS;

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
  const tasks = await listWaitingTasks(deps.pool, fanout.contentId, fromTaskNo);
  const policy = await inTransaction(deps.pool, lockFeedState);
  for (const task of tasks) {
    const { userIds } = await walkFollowers(deps.pool, {
      authorId: fanout.authorId,
      afterUserId: task.latestUserId ?? task.firstUserId - 1n,
      throughUserId: task.lastUserId,
      activeSince: activeSince(deps, fanout.mode, policy),
      targetsMax: Infinity,
      pageSize: deps.chunkSize,
      pagesMax: Infinity,
    });
    await queueTask(deps, fanout, task.taskNo, userIds.length > 0 ? userIds : [task.lastUserId]);
  }
}
