import { defineStatement, type Queryable } from './database.js';
import { countFollowersSql } from './follower-counts.js';
import { lockUsers } from './users.js';

/** What is left of a deleted account, in the order in which it is removed; the next step begins when one finds nothing. */
export const REMOVAL_STEPS = [
  'settle',
  'contents',
  'comments',
  'reactions',
  'following',
  'followers',
  'blocks',
  'feed',
] as const;
export type RemovalStep = (typeof REMOVAL_STEPS)[number];

/**
 * Deletes an account for everybody to see, in a transaction. It waits for nobody who holds the account (holdUser), say to
 * follow it; whoever comes later is refused. The row stays, emptied: its id is taken for good. Safe to repeat: the second
 * time changes nothing. False when there is no such user.
 */
export async function markAccountDeleted(db: Queryable, userId: bigint): Promise<boolean> {
  const [row] = await selectForNoKeyUpdate(db, [userId]);
  if (!row) return false;
  if (row.is_deleted) return true;
  await emptyUser(db, [userId]);
  await deleteActivity(db, [userId]);
  await insertRemoval(db, [userId, REMOVAL_STEPS[0]]);
  return true;
}

/**
 * Waits, in a transaction, for all that held a deleted account when it was marked: nothing of it is written after that.
 * Its handle is free from then on.
 */
export async function settleAccount(db: Queryable, userId: bigint): Promise<void> {
  await selectForUpdate(db, [userId]);
  const handle = `deleted_${userId}`;
  // No chosen handle repeats itself (users.ts).
  await freeHandle(db, [userId, `${handle}.${handle}`]);
}

/** Deleted accounts of which something is left, the first deleted first. */
export async function listRemovals(db: Queryable, limit: number): Promise<bigint[]> {
  return (await selectRemovals(db, [limit])).map((row) => BigInt(row.user_id));
}

/** Null when nothing is left. */
export async function readRemovalStep(db: Queryable, userId: bigint): Promise<RemovalStep | null> {
  return (await selectStep(db, [userId]))[0]?.step ?? null;
}

/** @param step null: nothing is left */
export async function saveRemovalStep(db: Queryable, userId: bigint, step: RemovalStep | null): Promise<void> {
  await updateStep(db, [userId, step]);
}

export async function listStandingContents(db: Queryable, userId: bigint, limit: number): Promise<bigint[]> {
  return (await selectContents(db, [userId, limit])).map((row) => BigInt(row.id));
}

export async function listStandingComments(db: Queryable, userId: bigint, limit: number): Promise<bigint[]> {
  return (await selectComments(db, [userId, limit])).map((row) => BigInt(row.id));
}

export interface ReactionOfUser {
  readonly contentId: bigint;
  readonly kind: 'LIKE' | 'FAVORITE';
}

export async function listReactions(db: Queryable, userId: bigint, limit: number): Promise<ReactionOfUser[]> {
  const rows = await selectReactions(db, [userId, limit]);
  return rows.map(({ content_id: contentId, kind }) => ({ contentId: BigInt(contentId), kind }));
}

/** True when it stood and was counted. */
export async function deleteReaction(db: Queryable, userId: bigint, reaction: ReactionOfUser): Promise<boolean> {
  const [row] = await deleteReactionRow(db, [reaction.contentId, userId, reaction.kind]);
  return row?.active ?? false;
}

/** Ends follows by a deleted account, in a transaction. Returns how many, at most `limit`. */
export async function endFollowing(db: Queryable, userId: bigint, limit: number): Promise<number> {
  await lockUsers(db, [userId]);
  const rows = await selectFollowees(db, [userId, limit]);
  if (rows.length > 0) await deleteFollowing(db, [userId, rows.map((row) => row.id)]);
  return rows.length;
}

/** Ends follows of a deleted account, in a transaction. Returns how many, at most `limit`. */
export async function endFollowers(db: Queryable, userId: bigint, limit: number): Promise<number> {
  const followers = (await selectFollowers(db, [userId, limit])).map((row) => BigInt(row.id));
  await lockUsers(db, followers);
  if (followers.length > 0) await deleteFollowers(db, [userId, followers]);
  return followers.length;
}

export async function deleteBlocks(db: Queryable, userId: bigint, limit: number): Promise<number> {
  return (await deleteBlockRows(db, [userId, limit])).length;
}

/** What the account counted and when it was seen: nothing refers to it any more. */
export async function deleteAccountState(db: Queryable, userId: bigint): Promise<void> {
  await deleteActivity(db, [userId]);
  await deleteShards(db, [userId]);
  await clearCounts(db, [userId]);
}

const selectForNoKeyUpdate = defineStatement<{ is_deleted: boolean }>(
  'accounts_lock',
  'SELECT deleted_at IS NOT NULL AS is_deleted FROM users WHERE id = $1 FOR NO KEY UPDATE',
);

const emptyUser = defineStatement(
  'accounts_empty',
  `UPDATE users SET deleted_at = now(), display_name = '', avatar_url = NULL WHERE id = $1`,
);

const selectForUpdate = defineStatement('accounts_settle', 'SELECT FROM users WHERE id = $1 FOR UPDATE');

const freeHandle = defineStatement('accounts_free_handle', 'UPDATE users SET handle = $2 WHERE id = $1');

const insertRemoval = defineStatement(
  'accounts_insert_removal',
  'INSERT INTO account_removals (user_id, step) VALUES ($1, $2) ON CONFLICT DO NOTHING',
);

const selectRemovals = defineStatement<{ user_id: string }>(
  'accounts_removals',
  'SELECT user_id FROM account_removals WHERE finished_at IS NULL ORDER BY requested_at LIMIT $1',
);

const selectStep = defineStatement<{ step: RemovalStep }>(
  'accounts_step',
  'SELECT step FROM account_removals WHERE user_id = $1 AND finished_at IS NULL',
);

const updateStep = defineStatement(
  'accounts_save_step',
  `UPDATE account_removals SET step = coalesce($2, step), finished_at = CASE WHEN $2 IS NULL THEN now() END
   WHERE user_id = $1 AND finished_at IS NULL`,
);

const selectContents = defineStatement<{ id: string }>(
  'accounts_contents',
  `SELECT id FROM contents WHERE author_id = $1 AND deleted_at IS NULL ORDER BY publish_time DESC, id DESC LIMIT $2`,
);

const selectComments = defineStatement<{ id: string }>(
  'accounts_comments',
  'SELECT id FROM comments WHERE user_id = $1 AND deleted_at IS NULL LIMIT $2',
);

const selectReactions = defineStatement<{ content_id: string; kind: 'LIKE' | 'FAVORITE' }>(
  'accounts_reactions',
  'SELECT content_id, kind FROM reactions WHERE user_id = $1 LIMIT $2',
);

const deleteReactionRow = defineStatement<{ active: boolean }>(
  'accounts_delete_reaction',
  'DELETE FROM reactions WHERE content_id = $1 AND user_id = $2 AND kind = $3 RETURNING active',
);

const selectFollowees = defineStatement<{ id: string }>(
  'accounts_followees',
  'SELECT followee_id AS id FROM follows WHERE follower_id = $1 ORDER BY followee_id LIMIT $2',
);

const deleteFollowing = defineStatement(
  'accounts_end_following',
  `WITH gone AS (
     DELETE FROM follows WHERE follower_id = $1 AND followee_id = ANY($2::numeric[]) RETURNING followee_id),
   follower AS (
     UPDATE users SET following_count = greatest(0, following_count - (SELECT count(*) FROM gone)::int) WHERE id = $1)
   ${countFollowersSql('g.followee_id', '-1', '(SELECT followee_id FROM gone ORDER BY followee_id) g')}`,
);

const selectFollowers = defineStatement<{ id: string }>(
  'accounts_followers',
  'SELECT follower_id AS id FROM follows WHERE followee_id = $1 ORDER BY follower_id LIMIT $2',
);

const deleteFollowers = defineStatement(
  'accounts_end_followers',
  `WITH gone AS (
     DELETE FROM follows WHERE followee_id = $1::numeric AND follower_id = ANY($2::numeric[]) RETURNING follower_id),
   followers AS (
     UPDATE users SET following_count = greatest(0, following_count - 1) WHERE id IN (SELECT follower_id FROM gone))
   ${countFollowersSql('$1::numeric', '-g.n', '(SELECT count(*)::int AS n FROM gone) g')}`,
);

const deleteBlockRows = defineStatement(
  'accounts_delete_blocks',
  `DELETE FROM blocks WHERE (blocker_id, blocked_id) IN (
     (SELECT blocker_id, blocked_id FROM blocks WHERE blocker_id = $1 LIMIT $2)
     UNION ALL (SELECT blocker_id, blocked_id FROM blocks WHERE blocked_id = $1 LIMIT $2) LIMIT $2)
   RETURNING blocker_id`,
);

const deleteActivity = defineStatement('accounts_delete_activity', 'DELETE FROM activity WHERE user_id = $1');

const deleteShards = defineStatement('accounts_delete_shards', 'DELETE FROM follower_count_shards WHERE user_id = $1');

const clearCounts = defineStatement(
  'accounts_clear_counts',
  'UPDATE users SET follower_count = 0, following_count = 0 WHERE id = $1',
);
