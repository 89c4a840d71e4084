import { defineStatement, type Queryable } from './database.js';

export interface FollowerWalk {
  readonly authorId: bigint;
  /** Exclusive; null starts at the least id. */
  readonly afterUserId: bigint | null;
  /** Inclusive. */
  readonly throughUserId: bigint;
  /** Targets were seen since, epoch milliseconds. */
  readonly activeSince: number;
  readonly targetsMax: number;
  /** Followers read at once, and how often. */
  readonly pageSize: number;
  readonly pagesMax: number;
}

/**
 * The keyset walk of a fan-out: targets among the followers, in ascending user id, at most `targetsMax`, page by page of
 * followers. `throughUserId` is the last follower looked at. A page is cut by followers, not by targets: among a million
 * followers with few active ones, one statement that looks for a thousand targets takes seconds.
 */
export async function walkFollowers(
  db: Queryable,
  walk: FollowerWalk,
): Promise<{ userIds: bigint[]; throughUserId: bigint; isEnd: boolean }> {
  const userIds: bigint[] = [];
  let through = walk.afterUserId ?? -1n;
  if (walk.targetsMax === 0) return { userIds, throughUserId: through, isEnd: true };
  for (let page = 0; page < walk.pagesMax; page += 1) {
    const args = [String(walk.authorId), String(through), String(walk.throughUserId), Math.floor(walk.activeSince)];
    const rows = await selectFollowers(db, [...args, walk.pageSize]);
    for (const row of rows) {
      if (userIds.length >= walk.targetsMax) return { userIds, throughUserId: through, isEnd: false };
      through = BigInt(row.follower_id);
      if (row.is_target) userIds.push(through);
    }
    if (rows.length < walk.pageSize) return { userIds, throughUserId: through, isEnd: true };
  }
  return { userIds, throughUserId: through, isEnd: false };
}

const selectFollowers = defineStatement<{ follower_id: string; is_target: boolean }>(
  'fanout_followers',
  `WITH page AS MATERIALIZED (
     SELECT follower_id FROM follows WHERE followee_id = $1 AND follower_id > $2 AND follower_id <= $3
     ORDER BY follower_id LIMIT $5)
   SELECT p.follower_id, coalesce(a.last_active_at >= $4, false) AS is_target
   FROM page p LEFT JOIN activity a ON a.user_id = p.follower_id ORDER BY p.follower_id`,
);
