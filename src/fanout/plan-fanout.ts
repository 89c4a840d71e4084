import type { Clock } from '../domain/clock.js';
import { ID_MAX } from '../domain/ids.js';
import {
  ACTIVITY_MARGIN_MS,
  chooseDeliveryMode,
  deliveryPriority,
  type ActivityWindows,
  type DeliveryMode,
} from '../domain/push-policy.js';
import { listWaitingTasks } from '../stores/fanout-tasks.js';
import { inTransaction, type Pool, type Queryable } from '../stores/database.js';
import {
  countOutstandingTargets,
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
import { queueTask, requeueTask, type QueueTaskDeps } from './queue-task.js';

export interface PlanDeps extends QueueTaskDeps {
  readonly pool: Pool;
  /** Projections of big accounts' outboxes. */
  readonly outboxes: Pick<InboxStore, 'insert'>;
  readonly clock: Clock;
  readonly threshold: number;
  readonly chunkSize: number;
  readonly tasksPerContent: number;
  readonly tasksTotal: number;
  /** Aborted when the process stops: a plan ends its turn then. */
  readonly stop?: AbortSignal;
}

/** `queuedTasks`: tasks below this number are in the queue. */
export interface PlanProgress {
  readonly queuedTasks: number;
  /** `planned`: nothing is left. `turn`: others have a turn first. `full`: a bound on outstanding tasks is reached. */
  readonly end: 'planned' | 'turn' | 'full';
  /** Of its tasks: the author's with the least to deliver goes first. */
  readonly priority: number;
}

/** Steps after which a plan lets others go first: some 100 ms. A big plan must not keep a small one waiting. */
const TURN_STEPS = 8;

/**
 * Cuts one content's followers into tasks, for one turn. Each task is saved together with how far the plan has come, then
 * queued; so a plan that died goes on behind the last saved task, and queues again those that it may not have queued.
 * `queuedTasks` is what an earlier turn of the same job reported.
 */
export async function planFanout(deps: PlanDeps, contentId: bigint, queuedTasks: number): Promise<PlanProgress> {
  const known = await findFanout(deps.pool, contentId);
  if (!known || known.state === 'DONE') return { queuedTasks, end: 'planned', priority: 1 };
  const priority = await priorityOf(deps, known.authorId);
  await requeueTasks(deps, known, queuedTasks, priority);
  let queued = Math.max(queuedTasks, known.taskCount);
  for (let steps = 0; steps < TURN_STEPS && !deps.stop?.aborted; steps += 1) {
    if (!(await hasRoom(deps, contentId))) return { queuedTasks: queued, end: 'full', priority };
    const step = await planTask(deps, contentId);
    if (step && step.userIds.length > 0) {
      await queueTask(deps, step.fanout, { ...step, priority });
      queued = step.taskNo + 1;
    }
    if (!step || step.isLast) return { queuedTasks: queued, end: 'planned', priority };
  }
  return { queuedTasks: queued, end: 'turn', priority };
}

/** By all that the author has to deliver right now: ten posts to a hundred followers count as one to a thousand. */
export async function priorityOf({ pool }: Pick<PlanDeps, 'pool'>, authorId: bigint): Promise<number> {
  const { followerCount } = await readAuthor(pool, authorId);
  return deliveryPriority(followerCount + (await countOutstandingTargets(pool, authorId)));
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
export const activeSince = (
  deps: Pick<PlanDeps, 'clock'>,
  mode: DeliveryMode | null,
  windows: ActivityWindows,
): number => deps.clock() - (mode === 'ACTIVE_FOLLOWERS' ? windows.activeMs : windows.dormantMs) - ACTIVITY_MARGIN_MS;

/**
 * Outstanding tasks are bounded per content and in all, so that a post with ten million followers cannot fill Redis. The
 * first task of a content finds room up to twice the bound in all: big plans that fill it do not keep small ones out.
 */
async function hasRoom(deps: PlanDeps, contentId: bigint): Promise<boolean> {
  const fanout = await findFanout(deps.pool, contentId);
  if (!fanout) return true;
  const outstanding = fanout.taskCount - fanout.finishedTaskCount - fanout.failedTaskCount;
  if (outstanding >= deps.tasksPerContent) return false;
  const counts = await deps.queues.pushTasks.getJobCounts('wait', 'prioritized', 'active', 'delayed');
  const inAll = Object.values(counts).reduce((sum, n) => sum + n, 0);
  return inAll < (outstanding === 0 ? 2 : 1) * deps.tasksTotal;
}

/** Queues saved tasks that may not be queued. */
async function requeueTasks(deps: PlanDeps, fanout: Fanout, fromTaskNo: number, priority: number): Promise<void> {
  if (fanout.taskCount <= fromTaskNo) return;
  const tasks = await listWaitingTasks(deps.pool, fanout.contentId, fromTaskNo);
  const policy = await inTransaction(deps.pool, lockFeedState);
  for (const task of tasks) {
    await requeueTask(deps, fanout, task, { activeSince: activeSince(deps, fanout.mode, policy), priority });
  }
}
