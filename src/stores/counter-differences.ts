import { countedRepostSql } from './contents.js';
import { COUNTER_NAMES, storedCountsSql, type CounterName, type Counts } from './counters.js';
import { defineStatement, type Queryable } from './database.js';

/** A counter that is not what its relations say. */
export interface CounterDifference {
  readonly contentId: bigint;
  readonly counter: CounterName;
  readonly stored: number;
  readonly counted: number;
}

/** Contents that stand, in descending id (the newest first) from `before` (exclusive) on. */
export async function listContentsDown(db: Queryable, before: bigint, limit: number): Promise<bigint[]> {
  return (await selectContents(db, [before, limit])).map((row) => BigInt(row.id));
}

/** Held until the transaction ends, by one at a time: a difference that two repair at once is repaired twice. */
export async function lockReconciling(db: Queryable): Promise<void> {
  await takeLock(db, []);
}

/**
 * Counters and relations as of one snapshot: a change moves both in one transaction, so that what differs here differs
 * whatever goes on meanwhile.
 */
export async function findCounterDifferences(
  db: Queryable,
  contentIds: readonly bigint[],
): Promise<CounterDifference[]> {
  const rows = await selectDifferent(db, [contentIds]);
  return rows.flatMap((row) =>
    COUNTER_NAMES.map((counter) => ({
      contentId: BigInt(row.content_id),
      counter,
      stored: row[counter],
      counted: row[`counted_${counter}`],
    })).filter(({ stored, counted }) => stored !== counted),
  );
}

const selectContents = defineStatement<{ id: string }>(
  'reconcile_contents',
  'SELECT id FROM contents WHERE id < $1 AND deleted_at IS NULL ORDER BY id DESC LIMIT $2',
);

const takeLock = defineStatement('reconcile_lock', `SELECT pg_advisory_xact_lock(hashtextextended('reconcile', 0))`);

type DifferentRow = Counts & { [K in CounterName as `counted_${K}`]: number } & { content_id: string };

const COUNTED_SQL: Readonly<Record<CounterName, string>> = {
  likes: `SELECT count(*) FROM reactions r WHERE r.content_id = k.content_id AND r.kind = 'LIKE' AND r.active`,
  comments: 'SELECT count(*) FROM comments m WHERE m.content_id = k.content_id AND m.deleted_at IS NULL',
  reposts: `SELECT count(*) FROM contents c
            WHERE c.repost_of = k.content_id AND c.deleted_at IS NULL AND ${countedRepostSql('c')}`,
  favorites: `SELECT count(*) FROM reactions r WHERE r.content_id = k.content_id AND r.kind = 'FAVORITE' AND r.active`,
};

const selectDifferent = defineStatement<DifferentRow>(
  'reconcile_differences',
  `SELECT * FROM (
     SELECT k.content_id,
       ${COUNTER_NAMES.map((name) => `coalesce(s.${name}, 0) AS ${name}`).join(', ')},
       ${COUNTER_NAMES.map((name) => `(${COUNTED_SQL[name]})::int AS counted_${name}`).join(', ')}
     FROM unnest($1::numeric[]) AS k (content_id)
     LEFT JOIN (${storedCountsSql('$1::numeric[]')}) s ON s.content_id = k.content_id) compared
   WHERE (${COUNTER_NAMES.join(', ')}) IS DISTINCT FROM (${COUNTER_NAMES.map((name) => `counted_${name}`).join(', ')})`,
);
