import type { Entry } from '../domain/entry.js';
import { defineStatement, type Queryable } from '../stores/database.js';

/** An entry that belongs to a feed. */
export interface OracleEntry extends Entry {
  /** Another text when the follow or a content it hangs on was written anew, say hidden and shown again. */
  readonly version: string;
}

/** The newest entries of a feed as of one instant. */
export interface Oracle {
  /** Epoch milliseconds; it does not speak of what was published later. */
  readonly nowMs: number;
  readonly entries: readonly OracleEntry[];
  /** The oldest entry that it speaks of; null when the feed ends before the limit. */
  readonly end: Entry | null;
}

export interface OracleDeps {
  readonly pool: Queryable;
  readonly includeOwn: boolean;
}

/**
 * The feed as its definition says it, in one statement over the authority: what followees published, not deleted, not
 * dated in the future, visible, by an account that stands, across no block, and a repost only while all that it reposts may be seen. It knows no
 * inbox, floor, mode or queue, and shares no code with the read path that it judges.
 */
export async function readOracle(
  { pool, includeOwn }: OracleDeps,
  userId: bigint,
  { nowMs, limit }: { nowMs: number; limit: number },
): Promise<Oracle> {
  const rows = await selectFeed(pool, [String(userId), nowMs, limit, includeOwn]);
  const entries = rows.map(({ id, publish_time, version }) => ({
    publishTime: Number(publish_time),
    contentId: BigInt(id),
    version,
  }));
  return { nowMs, entries, end: entries.length < limit ? null : (entries.at(-1) ?? null) };
}

/** A chain of reposts is followed this far; a longer one is not shown (README, Limits). */
const REPOSTS_MAX = 8;

/** $1 may see the content `c` for what it is; what it reposts is asked separately. */
const maySee = (c: string): string => `
  ${c}.deleted_at IS NULL AND ${c}.publish_time <= $2
  AND (SELECT deleted_at FROM users WHERE id = ${c}.author_id) IS NULL
  AND (${c}.author_id = $1 OR ${c}.visibility = 'PUBLIC' OR (${c}.visibility = 'FOLLOWERS' AND EXISTS (
    SELECT FROM follows WHERE follower_id = $1 AND followee_id = ${c}.author_id)))
  AND NOT EXISTS (SELECT FROM blocks WHERE blocker_id = $1 AND blocked_id = ${c}.author_id)
  AND NOT EXISTS (SELECT FROM blocks WHERE blocker_id = ${c}.author_id AND blocked_id = $1)`;

// xmin names the transaction that wrote a row. The limit within each outbox only spares reading what cannot be shown.
const selectFeed = defineStatement<{ id: string; publish_time: string; version: string }>(
  'verify_oracle',
  `WITH authors AS (
     SELECT followee_id AS id, xmin::text AS version FROM follows WHERE follower_id = $1::numeric
     UNION ALL SELECT $1, '' WHERE $4::boolean)
   SELECT shown.id, shown.publish_time, concat_ws(' ', authors.version, shown.version) AS version
   FROM authors CROSS JOIN LATERAL (
     SELECT c.id, c.publish_time, concat_ws(' ', c.xmin::text, reposted.version) AS version
     FROM contents c CROSS JOIN LATERAL (
       WITH RECURSIVE chain AS (
         SELECT c.repost_of AS id, 1 AS depth WHERE c.repost_of IS NOT NULL
         UNION ALL SELECT o.repost_of, depth + 1 FROM chain JOIN contents o USING (id)
         WHERE o.repost_of IS NOT NULL AND depth <= ${String(REPOSTS_MAX)})
       SELECT string_agg(o.xmin::text, ' ' ORDER BY depth) AS version,
         bool_and(depth <= ${String(REPOSTS_MAX)} AND o.id IS NOT NULL AND ${maySee('o')}) AS may_see
       FROM chain LEFT JOIN contents o USING (id)) reposted
     WHERE c.author_id = authors.id AND ${maySee('c')} AND reposted.may_see IS NOT FALSE
     ORDER BY c.publish_time DESC, c.id DESC LIMIT $3) shown
   ORDER BY shown.publish_time DESC, shown.id DESC LIMIT $3`,
);
