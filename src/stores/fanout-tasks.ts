import { defineStatement, type Queryable } from './database.js';
import type { FanoutState } from './fanouts.js';

/**
 * Saves (content, task) -> latest user id. Never goes backwards, so a task that runs twice cannot undo progress.
 * @param progress.delivered targets up to that user, of the whole task
 */
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

/**
 * Puts the failed tasks of a content back to waiting, and returns them: their reasons are forgotten, their progress is
 * not. Safe to repeat.
 */
export async function resetFailedTasks(db: Queryable, contentId: bigint): Promise<FanoutTask[]> {
  return (await resetTasks(db, [String(contentId)])).map(taskOf);
}

/** The task has used up its attempts. Its content stays in flight, so readers still see it. */
export async function failTask(db: Queryable, contentId: bigint, taskNo: number, error: string): Promise<void> {
  await markTaskFailed(db, [String(contentId), taskNo, error.slice(0, 2_000)]);
}

export interface FanoutTask {
  readonly contentId: bigint;
  readonly authorId: bigint;
  /** Epoch milliseconds, of its content. */
  readonly publishTime: number;
  readonly taskNo: number;
  readonly state: FanoutState;
  readonly firstUserId: bigint;
  readonly lastUserId: bigint;
  readonly targetCount: number;
  readonly deliveredCount: number;
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

interface TaskRow {
  content_id: string;
  task_no: number;
  state: FanoutState;
  first_user_id: string;
  last_user_id: string;
  target_count: number;
  delivered_count: number;
  author_id: string;
  publish_time: string;
  latest_user_id: string | null;
  inbox_store: string;
}

const taskOf = (row: TaskRow): FanoutTask => ({
  contentId: BigInt(row.content_id),
  authorId: BigInt(row.author_id),
  publishTime: Number(row.publish_time),
  taskNo: row.task_no,
  state: row.state,
  firstUserId: BigInt(row.first_user_id),
  lastUserId: BigInt(row.last_user_id),
  targetCount: row.target_count,
  deliveredCount: row.delivered_count,
  latestUserId: row.latest_user_id === null ? null : BigInt(row.latest_user_id),
  inboxStore: row.inbox_store,
});

const TASK_COLUMNS = `content_id, task_no, state, first_user_id, last_user_id, target_count, delivered_count, latest_user_id,
  (SELECT author_id FROM fanouts f WHERE f.content_id = fanout_tasks.content_id) AS author_id,
  (SELECT publish_time FROM fanouts f WHERE f.content_id = fanout_tasks.content_id) AS publish_time,
  (SELECT inbox_store FROM feed_state WHERE id = 1) AS inbox_store`;

const updateProgress = defineStatement(
  'fanout_task_progress',
  `UPDATE fanout_tasks SET latest_user_id = $3, delivered_count = greatest(delivered_count, $4),
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
   UPDATE fanouts f SET touched_at = now(), finished_task_count = f.finished_task_count + 1,
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
   UPDATE fanouts f SET touched_at = now(), state = 'FAILED', failed_task_count = f.failed_task_count + (task.was <> 'FAILED')::int
   FROM task WHERE f.content_id = $1`,
);

// The fan-out's row first, as above.
const resetTasks = defineStatement<TaskRow>(
  'fanout_reset_tasks',
  `WITH parent AS (SELECT content_id FROM fanouts WHERE content_id = $1 FOR NO KEY UPDATE),
   failed AS (SELECT t.task_no FROM fanout_tasks t, parent WHERE t.content_id = $1 AND t.state = 'FAILED' FOR NO KEY UPDATE OF t),
   reset AS (
     UPDATE fanout_tasks SET state = 'PENDING', error = NULL
     WHERE content_id = $1 AND task_no IN (SELECT task_no FROM failed) RETURNING ${TASK_COLUMNS}),
   counted AS (
     UPDATE fanouts SET touched_at = now(), failed_task_count = failed_task_count - (SELECT count(*) FROM reset)::int,
       state = CASE WHEN failed_task_count = (SELECT count(*) FROM reset) THEN 'RUNNING'::fanout_state ELSE state END
     WHERE content_id = $1 AND EXISTS (SELECT FROM reset))
   SELECT * FROM reset ORDER BY task_no`,
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
