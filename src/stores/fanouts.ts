import type { DeliveryMode } from '../domain/push-policy.js';
import { defineStatement, type Queryable } from './database.js';
import { followerCountSql } from './follower-counts.js';

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

/** Locks the author's row until the transaction ends. The count is that of all follows committed by then. */
export async function lockAuthorRow(client: Queryable, userId: bigint): Promise<Author> {
  await selectAuthorForUpdate(client, [String(userId)]);
  // A statement of its own, whose snapshot is later than the lock: row and shards as of one instant.
  return readAuthor(client, userId);
}

const authorOf = ([row]: { follower_count: number; has_pulled_contents: boolean }[]): Author => ({
  followerCount: row?.follower_count ?? 0,
  isPulled: row?.has_pulled_contents ?? false,
});

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

/**
 * Unfinished fan-outs that have not moved for so long, those first that were looked at longest ago. Listing them counts as
 * a look, so that the next list holds others. Whose rest has failed is left out: it waits for a retry.
 */
export async function touchStuckFanouts(db: Queryable, idleMs: number, limit: number): Promise<Fanout[]> {
  return (await touchStuck(db, [idleMs, limit])).map(fanoutOf);
}

/** Targets that the author's contents in flight have not reached yet, of some of them when there are very many. */
export async function countOutstandingTargets(db: Queryable, authorId: bigint): Promise<number> {
  const [row] = await sumOutstanding(db, [String(authorId)]);
  return Number(row?.targets ?? 0);
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

const FANOUT_COLUMNS = `content_id, author_id, publish_time, state, mode, epoch, planned_through, is_planned, task_count,
  finished_task_count, failed_task_count, target_count, delivered_count, started_at, finished_at`;
const selectFanout = defineStatement<FanoutRow>(
  'fanout_find',
  `SELECT ${FANOUT_COLUMNS} FROM fanouts WHERE content_id = $1`,
);

const selectFanoutForUpdate = defineStatement<FanoutRow>(
  'fanout_lock',
  `SELECT ${FANOUT_COLUMNS} FROM fanouts WHERE content_id = $1 FOR NO KEY UPDATE`,
);

// Rows that a plan or a task holds are moving right now.
const touchStuck = defineStatement<FanoutRow>(
  'fanout_touch_stuck',
  `WITH stuck AS MATERIALIZED (
     SELECT content_id FROM fanouts
     WHERE state <> 'DONE' AND touched_at <= now() - $1::int * interval '1 millisecond'
       AND (NOT is_planned OR finished_task_count + failed_task_count < task_count)
     ORDER BY touched_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED)
   UPDATE fanouts f SET touched_at = now() FROM stuck WHERE f.content_id = stuck.content_id
   RETURNING ${FANOUT_COLUMNS.replaceAll('content_id', 'f.content_id')}`,
);

const sumOutstanding = defineStatement<{ targets: string }>(
  'fanout_outstanding_targets',
  `SELECT coalesce(sum(target_count - delivered_count), 0) AS targets FROM (
     SELECT target_count, delivered_count FROM fanouts WHERE author_id = $1 AND state <> 'DONE' LIMIT 1000) listed`,
);

const sumUnfinished = defineStatement<{ delivered: string }>(
  'fanout_unfinished_deliveries',
  `SELECT coalesce(sum(delivered_count), 0) AS delivered FROM fanout_tasks WHERE content_id = $1 AND state <> 'DONE'`,
);

const updateMode = defineStatement(
  'fanout_record_mode',
  `UPDATE fanouts SET mode = $2::fanout_mode, epoch = $3, state = 'RUNNING', started_at = now(), touched_at = now()
   WHERE content_id = $1`,
);

const markPulled = defineStatement(
  'fanout_mark_pulled',
  `UPDATE users SET has_pulled_contents = true WHERE id = $1 AND NOT has_pulled_contents`,
);

const selectAuthorForUpdate = defineStatement(
  'fanout_lock_author',
  `SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE`,
);

const selectAuthor = defineStatement<{ follower_count: number; has_pulled_contents: boolean }>(
  'fanout_author',
  `SELECT ${followerCountSql('u')} AS follower_count, has_pulled_contents FROM users u WHERE id = $1`,
);

const insertTask = defineStatement(
  'fanout_plan_task',
  `WITH task AS (
     INSERT INTO fanout_tasks (content_id, task_no, first_user_id, last_user_id, target_count) VALUES ($1, $2, $3, $4, $5))
   UPDATE fanouts SET touched_at = now(), planned_through = $6, task_count = $2 + 1, target_count = target_count + $5 WHERE content_id = $1`,
);

const updatePlanPosition = defineStatement(
  'fanout_plan_position',
  `UPDATE fanouts SET touched_at = now(), planned_through = $2 WHERE content_id = $1`,
);

const endPlan = defineStatement(
  'fanout_end_plan',
  `UPDATE fanouts SET touched_at = now(), is_planned = true,
     state = CASE WHEN finished_task_count = task_count THEN 'DONE'::fanout_state ELSE state END,
     finished_at = CASE WHEN finished_task_count = task_count THEN now() END
   WHERE content_id = $1 AND NOT is_planned`,
);
