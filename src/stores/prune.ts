import { defineStatement, type Queryable } from './database.js';

/** Rows looked at, rows deleted, and where to go on; null at the end. */
export interface Pruned {
  readonly deleted: number;
  readonly position: string | null;
}

/** Deletes events that were moved to the queue longer ago, oldest first. Repeating it deletes nothing twice. */
export async function pruneEvents(db: Queryable, olderThanMs: number, limit: number): Promise<Pruned> {
  const [row] = await deleteEvents(db, [olderThanMs, limit]);
  const deleted = Number(row?.deleted ?? 0);
  return { deleted, position: deleted < limit ? null : '' };
}

/**
 * Deletes the tasks of deliveries that ended longer ago. The deliveries themselves stay, a row a content: authors may ask
 * for them as long as there is the content.
 */
export async function pruneTasks(db: Queryable, olderThanMs: number, position: string, limit: number): Promise<Pruned> {
  const [contentId = '-1', taskNo = '0'] = position ? position.split(' ') : [];
  const [row] = await deleteTasks(db, [contentId, taskNo, olderThanMs, limit]);
  return { deleted: Number(row?.deleted ?? 0), position: row && Number(row.seen) === limit ? row.last : null };
}

const deleteEvents = defineStatement<{ deleted: string }>(
  'prune_events',
  `WITH page AS MATERIALIZED (SELECT id, relayed_at FROM events ORDER BY id LIMIT $2),
   gone AS (
     DELETE FROM events e USING page p
     WHERE e.id = p.id AND p.relayed_at < now() - $1::bigint * interval '1 millisecond' RETURNING 1)
   SELECT count(*) AS deleted FROM gone`,
);

const deleteTasks = defineStatement<{ deleted: string; seen: string; last: string | null }>(
  'prune_tasks',
  `WITH page AS MATERIALIZED (
     SELECT content_id, task_no FROM fanout_tasks WHERE (content_id, task_no) > ($1::numeric, $2::int)
     ORDER BY content_id, task_no LIMIT $4),
   gone AS (
     DELETE FROM fanout_tasks t USING page p, fanouts f
     WHERE (t.content_id, t.task_no) = (p.content_id, p.task_no) AND f.content_id = p.content_id
       AND f.state = 'DONE' AND f.finished_at < now() - $3::bigint * interval '1 millisecond' RETURNING 1)
   SELECT (SELECT count(*) FROM gone) AS deleted, (SELECT count(*) FROM page) AS seen,
     (SELECT concat_ws(' ', content_id, task_no) FROM page ORDER BY content_id DESC, task_no DESC LIMIT 1) AS last`,
);
