import type { ContentFacts } from '../domain/visibility.js';
import { defineStatement, type Queryable } from './database.js';

/** A repost of a repost of … is followed this far; a longer chain is not shown. */
export const REPOST_DEPTH_MAX = 8;

/** The facts of the contents and of all that they repost, in one round trip. Unknown ids are absent. */
export async function loadContentFacts(
  db: Queryable,
  contentIds: readonly bigint[],
): Promise<ReadonlyMap<bigint, ContentFacts>> {
  if (contentIds.length === 0) return new Map();
  const rows = await selectFacts(db, [contentIds.map(String)]);
  return new Map(
    rows.map((row) => [
      BigInt(row.id),
      {
        contentId: BigInt(row.id),
        authorId: BigInt(row.author_id),
        publishTime: Number(row.publish_time),
        visibility: row.visibility,
        isDeleted: row.is_deleted,
        repostOf: row.repost_of === null ? null : BigInt(row.repost_of),
      },
    ]),
  );
}

const selectFacts = defineStatement<{
  id: string;
  author_id: string;
  publish_time: string;
  visibility: ContentFacts['visibility'];
  is_deleted: boolean;
  repost_of: string | null;
}>(
  'content_facts',
  `WITH RECURSIVE facts AS (
     SELECT id, author_id, publish_time, visibility, deleted_at IS NOT NULL AS is_deleted, repost_of, 0 AS depth
     FROM contents WHERE id = ANY($1::numeric[])
     UNION ALL
     SELECT c.id, c.author_id, c.publish_time, c.visibility, c.deleted_at IS NOT NULL, c.repost_of, f.depth + 1
     FROM facts f JOIN contents c ON c.id = f.repost_of WHERE f.depth < ${String(REPOST_DEPTH_MAX)})
   SELECT DISTINCT ON (id) id, author_id, publish_time, visibility, is_deleted, repost_of FROM facts`,
);
