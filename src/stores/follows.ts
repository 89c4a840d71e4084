import { defineStatement, type Queryable } from './database.js';
import { countFollowersSql } from './follower-counts.js';
import { isDeletedSql } from './visible-sql.js';

/**
 * Follows, and draws the follower's next seq. The follower's row must be locked (lockUsers): the lock is held until the
 * commit, so the seqs of one reader are in commit order; the followee's must be held (holdUser). Other followers of the
 * same account are not waited for. False when the follow was there already: nothing changes then.
 */
export async function addFollow(db: Queryable, followerId: bigint, followeeId: bigint): Promise<boolean> {
  return (await insertFollow(db, [followerId, followeeId])).length > 0;
}

/** The follower's row must be locked. False when there was nothing to end. */
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

export interface UserList {
  readonly userId: bigint;
  /** Null: nobody is signed in. */
  readonly viewerId: bigint | null;
  /** Exclusive; null starts at the least id. */
  readonly after: bigint | null;
  readonly limit: number;
}

/**
 * In ascending user id: the order of the index, and one that does not move while somebody pages through it. Without those
 * who deleted their accounts, and those whom the viewer blocks or who block the viewer; empty when the user is one of them.
 */
export const readFollowers = (db: Queryable, list: UserList): Promise<bigint[]> => readList(selectFollowers, db, list);

/** Whom the user follows; otherwise as readFollowers. */
export const readFollowing = (db: Queryable, list: UserList): Promise<bigint[]> => readList(selectFollowing, db, list);

async function readList(select: typeof selectFollowers, db: Queryable, list: UserList): Promise<bigint[]> {
  const rows = await select(db, [list.userId, list.after ?? -1n, list.limit, list.viewerId]);
  return rows.map((row) => BigInt(row.id));
}

// The statement's parts see one snapshot, and the follower's lock keeps it true.
const insertFollow = defineStatement(
  'follows_insert',
  `WITH follower AS (
     UPDATE users SET follow_seq = follow_seq + 1, following_count = following_count + 1
     WHERE id = $1::numeric AND NOT EXISTS (SELECT FROM follows WHERE follower_id = $1::numeric AND followee_id = $2::numeric)
     RETURNING follow_seq),
   counted AS (${countFollowersSql('$2::numeric', '1', 'follower')})
   INSERT INTO follows (follower_id, followee_id, follow_seq)
   SELECT $1, $2, follow_seq FROM follower RETURNING follow_seq`,
);

const deleteFollow = defineStatement(
  'follows_delete',
  `WITH gone AS (
     DELETE FROM follows WHERE follower_id = $1 AND followee_id = $2::numeric RETURNING follower_id),
   follower AS (
     UPDATE users SET following_count = greatest(0, following_count - 1) WHERE id = (SELECT follower_id FROM gone)),
   counted AS (${countFollowersSql('$2::numeric', '-1', 'gone')})
   SELECT FROM gone`,
);

const selectFollowedAmong = defineStatement<{ id: string }>(
  'follows_among',
  'SELECT followee_id AS id FROM follows WHERE follower_id = $1 AND followee_id = ANY($2::numeric[])',
);

/** A NULL viewer is blocked by nobody: each comparison with it is not true. */
const isApart = (user: string): string => `EXISTS (
  SELECT FROM blocks WHERE (blocker_id = $4::numeric AND blocked_id = ${user})
    OR (blocker_id = ${user} AND blocked_id = $4::numeric))`;

const listStatement = (name: string, of: 'follower_id' | 'followee_id', item: 'follower_id' | 'followee_id') =>
  defineStatement<{ id: string }>(
    name,
    `SELECT f.${item} AS id FROM follows f
     WHERE f.${of} = $1::numeric AND f.${item} > $2 AND NOT ${isDeletedSql(`f.${item}`)}
       AND NOT ${isApart('$1::numeric')} AND NOT ${isApart(`f.${item}`)}
     ORDER BY f.${item} LIMIT $3`,
  );

const selectFollowers = listStatement('follows_followers', 'followee_id', 'follower_id');
const selectFollowing = listStatement('follows_following', 'follower_id', 'followee_id');
