import { defineStatement, inTransaction, type Pool, type Queryable } from './database.js';
import { countFollowersSql, followerCountSql } from './follower-counts.js';

/** Counts of one user, as counted and as the follows say, as of one instant. */
export interface FollowCounts {
  readonly userId: bigint;
  readonly followers: { readonly counted: number; readonly actual: number };
  readonly following: { readonly counted: number; readonly actual: number };
}

/** Users whose counts differ from their follows, among the `limit` users behind `after`; null through: no more users. */
export async function findWrongFollowCounts(
  db: Queryable,
  { after, limit }: { after: bigint | null; limit: number },
): Promise<{ wrong: FollowCounts[]; through: bigint | null }> {
  const rows = (await selectCounts(db, [after ?? -1n, limit])).map((row) => ({
    userId: BigInt(row.id),
    followers: { counted: row.follower_count, actual: Number(row.followers) },
    following: { counted: row.following_count, actual: Number(row.following) },
  }));
  const differs = ({ counted, actual }: { counted: number; actual: number }): boolean => counted !== actual;
  return {
    wrong: rows.filter((row) => differs(row.followers) || differs(row.following)),
    through: rows.length < limit ? null : (rows.at(-1)?.userId ?? null),
  };
}

/**
 * Sets a user's counts to what the follows say, exactly, while others go on following: the user's row keeps out their own
 * follows and other repairs, and followers are corrected by a difference, which commutes with what others add.
 */
export async function repairFollowCounts(pool: Pool, userId: bigint): Promise<void> {
  await inTransaction(pool, async (client) => {
    await lockRow(client, [userId]);
    // Statements of their own, whose snapshots are later than the lock.
    await setFollowing(client, [userId]);
    await addFollowers(client, [userId]);
  });
}

const selectCounts = defineStatement<{
  id: string;
  follower_count: number;
  following_count: number;
  followers: string;
  following: string;
}>(
  'follow_counts_check',
  `SELECT u.id, ${followerCountSql('u')} AS follower_count, u.following_count,
     (SELECT count(*) FROM follows WHERE followee_id = u.id) AS followers,
     (SELECT count(*) FROM follows WHERE follower_id = u.id) AS following
   FROM users u WHERE u.id > $1 ORDER BY u.id LIMIT $2`,
);

const lockRow = defineStatement('follow_counts_lock', 'SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE');

const setFollowing = defineStatement(
  'follow_counts_set_following',
  `UPDATE users SET following_count = (SELECT count(*) FROM follows WHERE follower_id = $1) WHERE id = $1`,
);

const addFollowers = defineStatement(
  'follow_counts_add_followers',
  `WITH missing AS (
     SELECT (SELECT count(*) FROM follows WHERE followee_id = $1::numeric)::int - ${followerCountSql('u')} AS n
     FROM users u WHERE u.id = $1::numeric)
   ${countFollowersSql('$1::numeric', 'n', 'missing WHERE n <> 0')}`,
);
