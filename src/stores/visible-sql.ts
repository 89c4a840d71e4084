import { REPOST_DEPTH_MAX } from '../domain/visibility.js';

/**
 * SQL for "the viewer may see content `c` now": it and its author's account stand, its time has come, neither of author and viewer blocks the
 * other, and its visibility lets the viewer in. Authors see all of their own that stand. A repost is shown only while the
 * viewer may see what it reposts, and what that reposts, and so on; its author keeps seeing it and can delete it.
 *
 * `viewer` and `now` are parameters with their casts; a NULL viewer is nobody: each comparison with it is not true. Where
 * all contents have one author, give that parameter as `author`: follows and blocks are then looked up once, and no
 * comparison of the column tempts the planner away from the order of the outbox index.
 */
export function visibleSql(c: string, viewer: string, now: string, author = `${c}.author_id`): string {
  return `${ownRule(c, author)} AND (${c}.repost_of IS NULL OR ${author} = ${viewer} OR NOT EXISTS (
    WITH RECURSIVE chain AS (
      SELECT ${c}.repost_of AS id, 1 AS depth
      UNION ALL
      SELECT link.repost_of, chain.depth + 1 FROM chain JOIN contents link ON link.id = chain.id
      WHERE link.repost_of IS NOT NULL AND chain.depth <= ${REPOST_DEPTH_MAX})
    SELECT FROM chain LEFT JOIN contents original ON original.id = chain.id
    WHERE chain.depth > ${REPOST_DEPTH_MAX} OR (${ownRule('original', 'original.author_id')}) IS NOT TRUE))`;

  function ownRule(content: string, by: string): string {
    return `${content}.deleted_at IS NULL
      AND NOT ${isDeletedSql(by)} AND (${by} = ${viewer} OR (
      ${content}.publish_time <= ${now}
      AND (${content}.visibility = 'PUBLIC' OR (${content}.visibility = 'FOLLOWERS' AND EXISTS (
        SELECT FROM follows WHERE follower_id = ${viewer} AND followee_id = ${by})))
      AND ${notBlockedSql(viewer, by)}))`;
  }
}

/** SQL for "neither of the two blocks the other". With NULL for nobody it holds. */
export const notBlockedSql = (viewer: string, by: string): string =>
  `NOT EXISTS (
        SELECT FROM blocks WHERE (blocker_id = ${viewer} AND blocked_id = ${by})
          OR (blocker_id = ${by} AND blocked_id = ${viewer}))`;

/** SQL for "the account was deleted". A scalar, looked up by its key: an EXISTS may be hashed over all users instead. */
export const isDeletedSql = (user: string): string => `((SELECT deleted_at FROM users WHERE id = ${user}) IS NOT NULL)`;
