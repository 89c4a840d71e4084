import { defineStatement, type Queryable } from './database.js';

export interface CounterChange {
  readonly changeId: bigint;
  readonly contentId: bigint;
}

/**
 * The oldest changes that the projection may not show yet, locked until the transaction ends: another projector takes
 * others meanwhile. They were committed, so what is read of their contents afterwards has them.
 */
export async function lockCounterChanges(db: Queryable, limit: number): Promise<CounterChange[]> {
  const rows = await selectChanges(db, [limit]);
  return rows.map((row) => ({ changeId: BigInt(row.id), contentId: BigInt(row.content_id) }));
}

export async function deleteCounterChanges(db: Queryable, changes: readonly CounterChange[]): Promise<void> {
  await deleteChanges(db, [changes.map(({ changeId }) => changeId)]);
}

/** Those of the contents of which a change waits for the projection. */
export async function findChangedContents(db: Queryable, contentIds: readonly bigint[]): Promise<ReadonlySet<bigint>> {
  return new Set((await selectChanged(db, [contentIds])).map((row) => BigInt(row.content_id)));
}

/** How many changes wait for the projection, and for how long the oldest has. */
export async function readProjectionLag(db: Queryable): Promise<{ length: number; oldestMs: number }> {
  const [row] = await selectLag(db, []);
  return { length: Number(row?.length ?? 0), oldestMs: Number(row?.oldest_ms ?? 0) };
}

const selectChanges = defineStatement<{ id: string; content_id: string }>(
  'counter_changes_lock',
  'SELECT id, content_id FROM counter_changes ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED',
);

const deleteChanges = defineStatement(
  'counter_changes_delete',
  'DELETE FROM counter_changes WHERE id = ANY($1::bigint[])',
);

// Scanned whole: it is empty but for the last second's changes.
const selectChanged = defineStatement<{ content_id: string }>(
  'counter_changes_of_contents',
  'SELECT DISTINCT content_id FROM counter_changes WHERE content_id = ANY($1::numeric[])',
);

// The database's clock on both ends.
const selectLag = defineStatement<{ length: string; oldest_ms: string }>(
  'counter_changes_lag',
  `SELECT count(*) AS length,
     coalesce(greatest(0, extract(epoch FROM clock_timestamp() - min(created_at)) * 1000), 0)::bigint AS oldest_ms
   FROM counter_changes`,
);
