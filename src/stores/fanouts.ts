import type { DeliveryMode } from '../domain/push-policy.js';
import { defineStatement, type Queryable } from './database.js';

/** PENDING: not yet planned. RUNNING: being cut into tasks or delivered. FAILED: some task used up its attempts. */
export type FanoutState = 'PENDING' | 'RUNNING' | 'DONE' | 'FAILED';

export interface Fanout {
  readonly contentId: bigint;
  readonly authorId: bigint;
  readonly publishTime: number;
  readonly state: FanoutState;
  readonly mode: DeliveryMode | null;
  readonly epoch: bigint | null;
  /** The greatest follower id that a task covers; null before the first task. */
  readonly plannedThrough: bigint | null;
  readonly isPlanned: boolean;
  readonly taskCount: number;
  readonly finishedTaskCount: number;
  readonly failedTaskCount: number;
  readonly targetCount: number;
  readonly deliveredCount: number;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

export async function findFanout(db: Queryable, contentId: bigint): Promise<Fanout | null> {
  const [row] = await selectFanout(db, [String(contentId)]);
  return row ? fanoutOf(row) : null;
}

/** Followers whom unfinished tasks have reached so far; finished ones are counted in the fan-out itself. */
export async function readUnfinishedDeliveries(db: Queryable, contentId: bigint): Promise<number> {
  const [row] = await sumUnfinished(db, [String(contentId)]);
  return Number(row?.delivered ?? 0);
}

/** Locks the row until the transaction ends: plans and finished tasks of one content queue up here. */
export async function lockFanout(client: Queryable, contentId: bigint): Promise<Fanout | null> {
  const [row] = await selectFanoutForUpdate(client, [String(contentId)]);
  return row ? fanoutOf(row) : null;
}

/** Records the mode once; an author whose content is pushed to active followers only is pulled from then on. */
export async function recordDeliveryMode(
  client: Queryable,
  fanout: Fanout,
  mode: DeliveryMode,
  epoch: bigint,
): Promise<void> {
  await updateMode(client, [String(fanout.contentId), mode, String(epoch)]);
  if (mode === 'ACTIVE_FOLLOWERS') await markPulled(client, [String(fanout.authorId)]);
}

export interface Author {
  readonly followerCount: number;
  /** Some content of theirs was pushed to active followers only: readers pull them, perhaps from a projection. */
  readonly isPulled: boolean;
}

export const readAuthor = async (db: Queryable, userId: bigint): Promise<Author> =>
  authorOf(await selectAuthor(db, [String(userId)]));

/** Locks the author's row until the transaction ends. */
export const lockAuthorRow = async (client: Queryable, userId: bigint): Promise<Author> =>
  authorOf(await selectAuthorForUpdate(client, [String(userId)]));

const authorOf = ([row]: { follower_count: number; has_pulled_contents: boolean }[]): Author => ({
  followerCount: row?.follower_count ?? 0,
  isPulled: row?.has_pulled_contents ?? false,
});

export interface FollowerWalk {
  readonly authorId: bigint;
  /** Exclusive; null starts at the least id. */
  readonly afterUserId: bigint | null;
  /** Inclusive. */
  readonly throughUserId: bigint;
  /** Targets were seen since, epoch milliseconds. */
  readonly activeSince: number;
  readonly targetsMax: number;
  /** Followers read at once, and how often. */
  readonly pageSize: number;
  readonly pagesMax: number;
}

/**
 * The keyset walk of a fan-out: targets among the followers, in ascending user id, at most `targetsMax`, page by page of
 * followers. `throughUserId` is the last follower looked at. A page is cut by followers, not by targets: among a million
 * followers with few active ones, one statement that looks for a thousand targets takes seconds.
 */
export async function walkFollowers(
  db: Queryable,
  walk: FollowerWalk,
): Promise<{ userIds: bigint[]; throughUserId: bigint; isEnd: boolean }> {
  const userIds: bigint[] = [];
  let through = walk.afterUserId ?? -1n;
  if (walk.targetsMax === 0) return { userIds, throughUserId: through, isEnd: true };
  for (let page = 0; page < walk.pagesMax; page += 1) {
    const args = [String(walk.authorId), String(through), String(walk.throughUserId), Math.floor(walk.activeSince)];
    const rows = await selectFollowers(db, [...args, walk.pageSize]);
    for (const row of rows) {
      if (userIds.length >= walk.targetsMax) return { userIds, throughUserId: through, isEnd: false };
      through = BigInt(row.follower_id);
      if (row.is_target) userIds.push(through);
    }
    if (rows.length < walk.pageSize) return { userIds, throughUserId: through, isEnd: true };
  }
  return { userIds, throughUserId: through, isEnd: false };
}

/** Saves a task and how far the plan has come, in one statement. */
export async function savePlannedTask(
  client: Queryable,
  task: { contentId: bigint; taskNo: number; userIds: readonly bigint[]; throughUserId: bigint },
): Promise<void> {
  const { contentId, taskNo, userIds, throughUserId } = task;
  const [first, last] = [userIds[0], userIds.at(-1)].map(String);
  await insertTask(client, [String(contentId), taskNo, first, last, userIds.length, String(throughUserId)]);
}

/** A stretch of followers had no target: the plan goes on behind it. */
export async function savePlanPosition(client: Queryable, contentId: bigint, throughUserId: bigint): Promise<void> {
  await updatePlanPosition(client, [String(contentId), String(throughUserId)]);
}

/** The last step of planning. A fan-out whose tasks are all finished by then (or that has none) is done. */
export async function savePlanEnd(client: Queryable, contentId: bigint): Promise<void> {
  await endPlan(client, [String(contentId)]);
}

/** Saves (content, task) -> latest user id. Never goes backwards, so a task that runs twice cannot undo progress. */
export async function saveTaskProgress(
  db: Queryable,
  progress: { contentId: bigint; taskNo: number; latestUserId: bigint; delivered: number },
): Promise<void> {
  const { contentId, taskNo, latestUserId, delivered } = progress;
  await updateProgress(db, [String(contentId), taskNo, String(latestUserId), delivered]);
}

/** Counts the task as finished, once; the last one of a planned fan-out ends it. True when this call ended it. */
export async function finishTask(db: Queryable, contentId: bigint, taskNo: number): Promise<boolean> {
  const [row] = await completeTask(db, [String(contentId), taskNo]);
  return row?.state === 'DONE';
}

/** The task has used up its attempts. Its content stays in flight, so readers still see it. */
export async function failTask(db: Queryable, contentId: bigint, taskNo: number, error: string): Promise<void> {
  await markTaskFailed(db, [String(contentId), taskNo, error.slice(0, 2_000)]);
}

export interface FanoutTask {
  readonly contentId: bigint;
  readonly taskNo: number;
  readonly state: FanoutState;
  readonly firstUserId: bigint;
  readonly lastUserId: bigint;
  readonly targetCount: number;
  readonly latestUserId: bigint | null;
  /** The store that the deployment's readers read, as recorded now. */
  readonly inboxStore: string;
}

export async function findTask(db: Queryable, contentId: bigint, taskNo: number): Promise<FanoutTask | null> {
  const [row] = await selectTask(db, [String(contentId), taskNo]);
  return row ? taskOf(row) : null;
}

/** Tasks of one content that wait or run, from `fromTaskNo` on. */
export async function listWaitingTasks(db: Queryable, contentId: bigint, fromTaskNo: number): Promise<FanoutTask[]> {
  return (await selectWaitingTasks(db, [String(contentId), fromTaskNo])).map(taskOf);
}

/** Unfinished fan-outs of contents that were written longer ago, oldest first. Those with a failed task wait for a retry. */
export async function listStuckFanouts(db: Queryable, olderThanMs: number, limit: number): Promise<Fanout[]> {
  return (await selectStuck(db, [olderThanMs, limit])).map(fanoutOf);
}

interface FanoutRow {
  content_id: string;
  author_id: string;
  publish_time: string;
  state: FanoutState;
  mode: DeliveryMode | null;
  epoch: string | null;
  planned_through: string | null;
  is_planned: boolean;
  task_count: number;
  finished_task_count: number;
  failed_task_count: number;
  target_count: number;
  delivered_count: number;
  started_at: Date | null;
  finished_at: Date | null;
}

const fanoutOf = (row: FanoutRow): Fanout => ({
  contentId: BigInt(row.content_id),
  authorId: BigInt(row.author_id),
  publishTime: Number(row.publish_time),
  state: row.state,
  mode: row.mode,
  epoch: row.epoch === null ? null : BigInt(row.epoch),
  plannedThrough: row.planned_through === null ? null : BigInt(row.planned_through),
  isPlanned: row.is_planned,
  taskCount: row.task_count,
  finishedTaskCount: row.finished_task_count,
  failedTaskCount: row.failed_task_count,
  targetCount: row.target_count,
  deliveredCount: row.delivered_count,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
});

interface TaskRow {
  content_id: string;
  task_no: number;
  state: FanoutState;
  first_user_id: string;
  last_user_id: string;
  target_count: number;
  latest_user_id: string | null;
  inbox_store: string;
}

const taskOf = (row: TaskRow): FanoutTask => ({
  contentId: BigInt(row.content_id),
  taskNo: row.task_no,
  state: row.state,
  firstUserId: BigInt(row.first_user_id),
  lastUserId: BigInt(row.last_user_id),
  targetCount: row.target_count,
  latestUserId: row.latest_user_id === null ? null : BigInt(row.latest_user_id),
  inboxStore: row.inbox_store,
});

const FANOUT_COLUMNS = `content_id, author_id, publish_time, state, mode, epoch, planned_through, is_planned, task_count,
  finished_task_count, failed_task_count, target_count, delivered_count, started_at, finished_at`;
const TASK_COLUMNS = `content_id, task_no, state, first_user_id, last_user_id, target_count, latest_user_id,
  (SELECT inbox_store FROM feed_state WHERE id = 1) AS inbox_store`;

const selectFanout = defineStatement<FanoutRow>(
  'fanout_find',
  `SELECT ${FANOUT_COLUMNS} FROM fanouts WHERE content_id = $1`,
);

const selectFanoutForUpdate = defineStatement<FanoutRow>(
  'fanout_lock',
  `SELECT ${FANOUT_COLUMNS} FROM fanouts WHERE content_id = $1 FOR NO KEY UPDATE`,
);

const selectStuck = defineStatement<FanoutRow>(
  'fanout_stuck',
  `SELECT ${FANOUT_COLUMNS} FROM fanouts
   WHERE state <> 'DONE' AND failed_task_count = 0 AND EXISTS (
     SELECT FROM contents c WHERE c.id = content_id AND c.created_at < now() - $1::int * interval '1 millisecond')
   ORDER BY publish_time LIMIT $2`,
);

const sumUnfinished = defineStatement<{ delivered: string }>(
  'fanout_unfinished_deliveries',
  `SELECT coalesce(sum(delivered_count), 0) AS delivered FROM fanout_tasks WHERE content_id = $1 AND state <> 'DONE'`,
);

const updateMode = defineStatement(
  'fanout_record_mode',
  `UPDATE fanouts SET mode = $2::fanout_mode, epoch = $3, state = 'RUNNING', started_at = now() WHERE content_id = $1`,
);

const markPulled = defineStatement(
  'fanout_mark_pulled',
  `UPDATE users SET has_pulled_contents = true WHERE id = $1 AND NOT has_pulled_contents`,
);

const selectAuthorForUpdate = defineStatement<{ follower_count: number; has_pulled_contents: boolean }>(
  'fanout_lock_author',
  `SELECT follower_count, has_pulled_contents FROM users WHERE id = $1 FOR NO KEY UPDATE`,
);

const selectAuthor = defineStatement<{ follower_count: number; has_pulled_contents: boolean }>(
  'fanout_author',
  `SELECT follower_count, has_pulled_contents FROM users WHERE id = $1`,
);

const selectFollowers = defineStatement<{ follower_id: string; is_target: boolean }>(
  'fanout_followers',
  `WITH page AS MATERIALIZED (
     SELECT follower_id FROM follows WHERE followee_id = $1 AND follower_id > $2 AND follower_id <= $3
     ORDER BY follower_id LIMIT $5)
   SELECT p.follower_id, coalesce(a.last_active_at >= $4, false) AS is_target
   FROM page p LEFT JOIN activity a ON a.user_id = p.follower_id ORDER BY p.follower_id`,
);

const insertTask = defineStatement(
  'fanout_plan_task',
  `WITH task AS (
     INSERT INTO fanout_tasks (content_id, task_no, first_user_id, last_user_id, target_count) VALUES ($1, $2, $3, $4, $5))
   UPDATE fanouts SET planned_through = $6, task_count = $2 + 1, target_count = target_count + $5 WHERE content_id = $1`,
);

const updatePlanPosition = defineStatement(
  'fanout_plan_position',
  `UPDATE fanouts SET planned_through = $2 WHERE content_id = $1`,
);

const endPlan = defineStatement(
  'fanout_end_plan',
  `UPDATE fanouts SET is_planned = true,
     state = CASE WHEN finished_task_count = task_count THEN 'DONE'::fanout_state ELSE state END,
     finished_at = CASE WHEN finished_task_count = task_count THEN now() END
   WHERE content_id = $1 AND NOT is_planned`,
);

const updateProgress = defineStatement(
  'fanout_task_progress',
  `UPDATE fanout_tasks SET latest_user_id = $3, delivered_count = delivered_count + $4,
     state = CASE state WHEN 'PENDING' THEN 'RUNNING'::fanout_state ELSE state END
   WHERE content_id = $1 AND task_no = $2 AND (latest_user_id IS NULL OR latest_user_id < $3)`,
);

/** The fan-out's row is locked before its task's, as everywhere: failing and finishing cannot deadlock. */
const completeTask = defineStatement<{ state: FanoutState }>(
  'fanout_finish_task',
  `WITH parent AS (SELECT content_id FROM fanouts WHERE content_id = $1 FOR NO KEY UPDATE),
   before AS (SELECT t.state FROM fanout_tasks t, parent WHERE t.content_id = $1 AND t.task_no = $2 AND t.state <> 'DONE' FOR NO KEY UPDATE OF t),
   task AS (
     UPDATE fanout_tasks t SET state = 'DONE', finished_at = now(), error = NULL FROM before
     WHERE t.content_id = $1 AND t.task_no = $2 RETURNING t.delivered_count, before.state AS was)
   UPDATE fanouts f SET finished_task_count = f.finished_task_count + 1,
     failed_task_count = f.failed_task_count - (task.was = 'FAILED')::int,
     delivered_count = f.delivered_count + task.delivered_count,
     state = CASE WHEN f.is_planned AND f.finished_task_count + 1 = f.task_count THEN 'DONE'::fanout_state
                  WHEN f.failed_task_count - (task.was = 'FAILED')::int > 0 THEN 'FAILED' ELSE 'RUNNING' END,
     finished_at = CASE WHEN f.is_planned AND f.finished_task_count + 1 = f.task_count THEN now() END
   FROM task WHERE f.content_id = $1 RETURNING f.state`,
);

const markTaskFailed = defineStatement(
  'fanout_fail_task',
  `WITH parent AS (SELECT content_id FROM fanouts WHERE content_id = $1 FOR NO KEY UPDATE),
   before AS (SELECT t.state FROM fanout_tasks t, parent WHERE t.content_id = $1 AND t.task_no = $2 AND t.state <> 'DONE' FOR NO KEY UPDATE OF t),
   task AS (
     UPDATE fanout_tasks t SET state = 'FAILED', error = $3 FROM before
     WHERE t.content_id = $1 AND t.task_no = $2 RETURNING before.state AS was)
   UPDATE fanouts f SET state = 'FAILED', failed_task_count = f.failed_task_count + (task.was <> 'FAILED')::int
   FROM task WHERE f.content_id = $1`,
);

const selectTask = defineStatement<TaskRow>(
  'fanout_find_task',
  `SELECT ${TASK_COLUMNS} FROM fanout_tasks WHERE content_id = $1 AND task_no = $2`,
);

const selectWaitingTasks = defineStatement<TaskRow>(
  'fanout_waiting_tasks',
  `SELECT ${TASK_COLUMNS} FROM fanout_tasks
   WHERE content_id = $1 AND task_no >= $2 AND state IN ('PENDING', 'RUNNING') ORDER BY task_no`,
);
