import type pg from 'pg';
import { compareEntries, type Entry } from '../../src/domain/entry.js';

interface Row {
  id: string;
  author_id: string;
  publish_time: string;
  visibility: string;
  deleted: boolean;
  repost_of: string | null;
}

/**
 * The feed as its definition says it, in the plainest way: everything there is, filtered by what the viewer may see,
 * sorted. It shares no rule with the product.
 */
export async function oracleFeed(pool: pg.Pool, userId: bigint, now: number): Promise<Entry[]> {
  const me = String(userId);
  const contents = (
    await pool.query<Row>(
      `SELECT id, author_id, publish_time, visibility, repost_of,
         deleted_at IS NOT NULL OR author_id IN (SELECT id FROM users WHERE deleted_at IS NOT NULL) AS deleted FROM contents`,
    )
  ).rows;
  const follows = (
    await pool.query<{ followee_id: string }>('SELECT followee_id FROM follows WHERE follower_id = $1', [me])
  ).rows;
  const blocks = (
    await pool.query<{ a: string; b: string }>(
      'SELECT blocker_id AS a, blocked_id AS b FROM blocks WHERE blocker_id = $1 OR blocked_id = $1',
      [me],
    )
  ).rows;
  const followed = new Set(follows.map((row) => row.followee_id));
  const apart = new Set(blocks.flatMap((row) => [row.a, row.b]).filter((id) => id !== me));
  const byId = new Map(contents.map((row) => [row.id, row]));
  const maySee = (row: Row | undefined): boolean =>
    row !== undefined &&
    !row.deleted &&
    !apart.has(row.author_id) &&
    (row.author_id === me ||
      row.visibility === 'PUBLIC' ||
      (row.visibility === 'FOLLOWERS' && followed.has(row.author_id))) &&
    Number(row.publish_time) <= now &&
    (row.repost_of === null || maySee(byId.get(row.repost_of)));
  return contents
    .filter((row) => followed.has(row.author_id) && maySee(row))
    .map((row) => ({ publishTime: Number(row.publish_time), contentId: BigInt(row.id) }))
    .sort(compareEntries);
}
