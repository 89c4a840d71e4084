import { existsSync, readFileSync } from 'node:fs';
import { inTransaction, type Pool } from '../../src/stores/database.js';
import { generateGraph, type MutualFollow } from '../harness/graphs.js';

const GITHUB = new URL('../../../shared/data/github-mutual-follows.csv', import.meta.url);

/** The file's edges; else those of the GitHub graph where it is at hand, else of one of its size and shape. */
export function readGraph(file: string | undefined): readonly MutualFollow[] {
  const source = file ?? GITHUB;
  if (file === undefined && !existsSync(GITHUB)) return generateGraph(37_700, 289_003);
  const [, ...lines] = readFileSync(source, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => line.split(/[\s,]+/).map(Number) as [number, number]);
}

/**
 * Writes users (ids from 1), follows in both directions and activity: of ten readers one was never here and one came
 * last eight days ago.
 */
export const loadGraph = (pool: Pool, edges: readonly MutualFollow[]): Promise<void> =>
  inTransaction(pool, async (client) => {
    // Half a million follows take longer than a statement of the product may.
    await client.query('SET LOCAL statement_timeout = 0');
    const ends = [edges.map(([a]) => a + 1), edges.map(([, b]) => b + 1)];
    await client.query(
      `INSERT INTO users (id, handle, display_name)
     SELECT id, 'user_' || id, 'User ' || id FROM (SELECT unnest($1::int[]) UNION SELECT unnest($2::int[])) AS u (id)`,
      ends,
    );
    await client.query(
      `INSERT INTO follows (follower_id, followee_id, follow_seq)
     SELECT a, b, row_number() OVER (PARTITION BY a ORDER BY b)
     FROM unnest($1::int[] || $2::int[], $2::int[] || $1::int[]) AS f (a, b)`,
      ends,
    );
    await client.query(
      `UPDATE users SET follower_count = f.n, following_count = f.n, follow_seq = f.n
     FROM (SELECT follower_id, count(*) AS n FROM follows GROUP BY follower_id) f WHERE f.follower_id = id`,
    );
    await client.query(
      `INSERT INTO activity (user_id, last_active_at)
     SELECT id, $1::bigint - CASE WHEN id % 10 = 1 THEN 8 * 86400000 ELSE 0 END FROM users WHERE id % 10 <> 0`,
      [Date.now()],
    );
    await client.query('ANALYZE');
  });

/** Writes down when contents, follows and blocks change, so that readers can ask what changed while they read. */
export async function recordChanges(pool: Pool): Promise<void> {
  await pool.query(`
    CREATE TABLE stress_changes (thing text NOT NULL, changed_at bigint NOT NULL);
    CREATE INDEX ON stress_changes (thing, changed_at);
    CREATE FUNCTION record_change() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE row jsonb := to_jsonb(coalesce(NEW, OLD));
    BEGIN
      INSERT INTO stress_changes VALUES (
        coalesce(row ->> 'id', concat(row ->> 'follower_id', '-', row ->> 'followee_id')),
        extract(epoch FROM clock_timestamp()) * 1000);
      RETURN NULL;
    END $$;
    CREATE TRIGGER record_change AFTER INSERT OR UPDATE ON contents FOR EACH ROW EXECUTE FUNCTION record_change();
    CREATE TRIGGER record_change AFTER INSERT OR DELETE ON follows FOR EACH ROW EXECUTE FUNCTION record_change();`);
}
