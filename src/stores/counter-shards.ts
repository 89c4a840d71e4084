import { COUNTER_NAMES } from './counters.js';
import { defineStatement, inTransaction, type Pool, type Queryable } from './database.js';

/** Contents that have shards, in ascending id from `after` (exclusive) on. */
export async function listShardedContents(db: Queryable, after: bigint, limit: number): Promise<bigint[]> {
  return (await selectSharded(db, [after, limit])).map((row) => BigInt(row.content_id));
}

/**
 * Adds the shards of a content that nobody is writing to its row and deletes them, in one step for every reader. Shards
 * that would take the row below 0 without the others wait for the next time. Returns how many were folded.
 */
export async function foldShards(pool: Pool, contentId: bigint): Promise<number> {
  return inTransaction(pool, async (client) => {
    await insertRow(client, [contentId]);
    // Writers find the row locked and go on in the shards; the next statement sees it as it is now.
    await lockRow(client, [contentId]);
    const [row] = await foldIntoRow(client, [contentId]);
    return Number(row?.folded ?? 0);
  });
}

const selectSharded = defineStatement<{ content_id: string }>(
  'counter_shards_contents',
  'SELECT DISTINCT content_id FROM content_counter_shards WHERE content_id > $1 ORDER BY content_id LIMIT $2',
);

const insertRow = defineStatement(
  'counter_shards_insert_row',
  `INSERT INTO content_counters (content_id)
   SELECT $1 WHERE NOT EXISTS (SELECT FROM content_counters WHERE content_id = $1) ON CONFLICT DO NOTHING`,
);

const lockRow = defineStatement(
  'counter_shards_lock_row',
  'SELECT FROM content_counters WHERE content_id = $1 FOR NO KEY UPDATE',
);

const FOLDED = [...COUNTER_NAMES, 'version', 'comment_version'];

const foldIntoRow = defineStatement<{ folded: string }>(
  'counter_shards_fold',
  `WITH taken AS MATERIALIZED (
     SELECT * FROM content_counter_shards WHERE content_id = $1 FOR UPDATE SKIP LOCKED),
   total AS MATERIALIZED (
     SELECT ${FOLDED.map((name) => `sum(t.${name}) AS ${name}`).join(', ')}, count(*) AS folded FROM taken t),
   fit AS MATERIALIZED (
     SELECT total.* FROM total JOIN content_counters c ON c.content_id = $1
     WHERE folded > 0 AND ${COUNTER_NAMES.map((name) => `c.${name} + total.${name} >= 0`).join(' AND ')}),
   gone AS (
     DELETE FROM content_counter_shards s USING taken t, fit WHERE s.content_id = t.content_id AND s.shard = t.shard)
   UPDATE content_counters c SET ${FOLDED.map((name) => `${name} = c.${name} + fit.${name}`).join(', ')}
   FROM fit WHERE c.content_id = $1 RETURNING fit.folded`,
);
