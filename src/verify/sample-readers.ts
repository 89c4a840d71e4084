import { defineStatement, type Queryable } from '../stores/database.js';

/** At most `limit` users who follow somebody, the same ones each time, spread over all ids. */
export async function sampleReaders(db: Queryable, limit: number): Promise<bigint[]> {
  return (await selectSample(db, [limit])).map(({ id }) => BigInt(id));
}

/** Some reader seen since `sinceMs`; null when there is none. */
export async function pickActiveReader(db: Queryable, sinceMs: number): Promise<bigint | null> {
  const [row] = await selectActive(db, [sinceMs, Math.random()]);
  return row ? BigInt(row.user_id) : null;
}

const selectSample = defineStatement<{ id: string }>(
  'verify_sample',
  `SELECT id FROM users WHERE following_count > 0 AND deleted_at IS NULL ORDER BY md5(id::text), id LIMIT $1`,
);

// A random place among the ids, then the next active reader behind it, else the first: two walks of an index. Readers
// behind a gap are picked more often, which is good enough for a spot check and spares reading the whole table.
const selectActive = defineStatement<{ user_id: string }>(
  'verify_active_reader',
  `WITH place AS (SELECT trunc(min(user_id) + (max(user_id) - min(user_id)) * $2::float8::numeric) AS id FROM activity)
   (SELECT user_id FROM activity WHERE last_active_at >= $1 AND user_id >= (SELECT id FROM place)
    ORDER BY user_id LIMIT 1)
   UNION ALL
   (SELECT user_id FROM activity WHERE last_active_at >= $1 ORDER BY user_id LIMIT 1)
   LIMIT 1`,
);
