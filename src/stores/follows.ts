import { defineStatement, type Queryable } from './database.js';

/**
 * Follows, and draws the follower's next seq. Both user rows must be locked (lockUsers): the lock is held until the
 * commit, so the seqs of one reader are in commit order. False when the follow was there already: nothing changes then.
 */
export async function addFollow(db: Queryable, followerId: bigint, followeeId: bigint): Promise<boolean> {
  return (await insertFollow(db, [followerId, followeeId])).length > 0;
}

/** Both user rows must be locked. False when there was nothing to end. */
export async function removeFollow(db: Queryable, followerId: bigint, followeeId: bigint): Promise<boolean> {
  return (await deleteFollow(db, [followerId, followeeId])).length > 0;
}

/** Those of the users whom the follower follows. */
export async function readFollowedAmong(
  db: Queryable,
  followerId: bigint,
  userIds: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  const rows = await selectFollowedAmong(db, [followerId, userIds]);
  return new Set(rows.map((row) => BigInt(row.id)));
}

/** In ascending user id: the order of the index, and one that does not move while somebody pages through it. */
export async function readFollowers(db: Queryable, userId: bigint, after: bigint | null, limit: number) {
  return (await selectFollowers(db, [userId, after ?? -1n, limit])).map((row) => BigInt(row.id));
}

/** In ascending user id. */
export async function readFollowing(db: Queryable, userId: bigint, after: bigint | null, limit: number) {
  return (await selectFollowing(db, [userId, after ?? -1n, limit])).map((row) => BigInt(row.id));
}

// The statement's parts see one snapshot, and the locks keep it true.
const insertFollow = defineStatement(
  'follows_insert',
  `WITH follower AS (
     UPDATE users SET follow_seq = follow_seq + 1, following_count = following_count + 1
     WHERE id = $1::numeric AND NOT EXISTS (SELECT FROM follows WHERE follower_id = $1::numeric AND followee_id = $2::numeric)
     RETURNING follow_seq),
   followee AS (
     UPDATE users SET follower_count = follower_count + 1
     WHERE id = $2::numeric AND EXISTS (SELECT FROM follower))
   INSERT INTO follows (follower_id, followee_id, follow_seq)
   SELECT $1, $2, follow_seq FROM follower RETURNING follow_seq`,
);

const deleteFollow = defineStatement(
  'follows_delete',
  `WITH gone AS (
     DELETE FROM follows WHERE follower_id = $1 AND followee_id = $2 RETURNING follower_id, followee_id),
   follower AS (
     UPDATE users SET following_count = greatest(0, following_count - 1) WHERE id = (SELECT follower_id FROM gone)),
   followee AS (
     UPDATE users SET follower_count = greatest(0, follower_count - 1) WHERE id = (SELECT followee_id FROM gone))
   SELECT FROM gone`,
);

const selectFollowedAmong = defineStatement<{ id: string }>(
  'follows_among',
  'SELECT followee_id AS id FROM follows WHERE follower_id = $1 AND followee_id = ANY($2::numeric[])',
);

const selectFollowers = defineStatement<{ id: string }>(
  'follows_followers',
  'SELECT follower_id AS id FROM follows WHERE followee_id = $1 AND follower_id > $2 ORDER BY follower_id LIMIT $3',
);

const selectFollowing = defineStatement<{ id: string }>(
  'follows_following',
  'SELECT followee_id AS id FROM follows WHERE follower_id = $1 AND followee_id > $2 ORDER BY followee_id LIMIT $3',
);
