import { REPOST_DEPTH_MAX, type ContentFacts } from '../domain/visibility.js';
import { defineStatement, type Queryable } from './database.js';
import { isDeletedSql } from './visible-sql.js';

/** Contents with all that they repost, and what stands between their authors and the viewer, as of one instant. */
export interface FactsForViewer {
  readonly facts: ReadonlyMap<bigint, ContentFacts>;
  /** Authors among them whom the viewer follows. */
  readonly followees: ReadonlySet<bigint>;
  /** Authors among them who are blocked by the viewer or block the viewer. */
  readonly blockedIds: ReadonlySet<bigint>;
}

/**
 * One round trip; unknown ids are absent. The relations come with the facts: with older ones, somebody who was just
 * blocked could see what the blocker has opened to followers since.
 */
export async function loadFactsForViewer(
  db: Queryable,
  viewerId: bigint,
  contentIds: readonly bigint[],
): Promise<FactsForViewer> {
  const rows = contentIds.length === 0 ? [] : await selectFacts(db, [contentIds.map(String), String(viewerId)]);
  const idsWhere = (holds: (row: FactsRow) => boolean) =>
    new Set(rows.filter(holds).map((row) => BigInt(row.author_id)));
  return {
    facts: new Map(rows.map((row) => [BigInt(row.id), factsOf(row)])),
    followees: idsWhere((row) => row.is_followed),
    blockedIds: idsWhere((row) => row.is_blocked),
  };
}

interface FactsRow {
  id: string;
  author_id: string;
  publish_time: string;
  visibility: ContentFacts['visibility'];
  is_deleted: boolean;
  repost_of: string | null;
  is_followed: boolean;
  is_blocked: boolean;
}

const factsOf = (row: FactsRow): ContentFacts => ({
  contentId: BigInt(row.id),
  authorId: BigInt(row.author_id),
  publishTime: Number(row.publish_time),
  visibility: row.visibility,
  isDeleted: row.is_deleted,
  repostOf: row.repost_of === null ? null : BigInt(row.repost_of),
});

/** LATERAL by primary key: `id IN (SELECT id FROM chain)` scans all contents, since a chain's length cannot be estimated. */
const selectFacts = defineStatement<FactsRow>(
  'content_facts',
  `WITH RECURSIVE chain AS (
     SELECT id, repost_of, 0 AS depth FROM contents WHERE id = ANY($1::numeric[])
     UNION ALL
     SELECT c.id, c.repost_of, chain.depth + 1
     FROM chain JOIN contents c ON c.id = chain.repost_of WHERE chain.depth < ${REPOST_DEPTH_MAX})
   SELECT c.id, c.author_id, c.publish_time, c.visibility,
     c.deleted_at IS NOT NULL OR ${isDeletedSql('c.author_id')} AS is_deleted,
     c.repost_of,
     EXISTS (SELECT FROM follows WHERE follower_id = $2 AND followee_id = c.author_id) AS is_followed,
     EXISTS (SELECT FROM blocks WHERE (blocker_id = $2 AND blocked_id = c.author_id)
       OR (blocker_id = c.author_id AND blocked_id = $2)) AS is_blocked
   FROM (SELECT DISTINCT id FROM chain) k CROSS JOIN LATERAL (SELECT * FROM contents WHERE id = k.id LIMIT 1) c`,
);
