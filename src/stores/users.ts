import { TidelineError } from '../domain/errors.js';
import { defaultHandle } from '../domain/handles.js';
import { defineStatement, type Database, type Queryable } from './database.js';
import { followerCountSql } from './follower-counts.js';

/**
 * A signed-in viewer may act before anybody has registered them here: their row is made on the first command. Held as by
 * holdUser. Repeating is safe: an existing row is left as it is.
 * @throws TidelineError UNAUTHENTICATED when the account was deleted: its tokens write nothing any more.
 */
export async function ensureUser(db: Queryable, userId: bigint): Promise<void> {
  await createMissingUser(db, userId);
  if (!(await holdUser(db, userId))) throw accountDeleted();
}

/** As ensureUser, without holding the row: for whoever locks it afterwards, in order with others. */
export async function createMissingUser(db: Queryable, userId: bigint): Promise<void> {
  // Looked at first: ON CONFLICT would wait for whoever changes that row.
  if ((await selectExisting(db, [userId])).length > 0) return;
  const handle = defaultHandle(userId);
  const [row] = await insertUser(db, [userId, handle, handle]);
  if (row?.exists) return;
  // Somebody else took the default handle. The id is unique, so is `user_1.user_1`: no chosen handle repeats itself.
  await insertUser(db, [userId, `${handle}.${handle}`, handle]);
}

export const accountDeleted = (): TidelineError =>
  new TidelineError('UNAUTHENTICATED', 'This account has been deleted.');

/**
 * Keeps what a user has from being removed until the transaction ends (settleAccount); any number of transactions may hold
 * one at once. False when there is no such user, or no more.
 */
export async function holdUser(db: Queryable, userId: bigint): Promise<boolean> {
  return (await holdUsers(db, [userId])).has(userId);
}

/** As holdUser, for many; those who are not there, or no more, are absent. */
export async function holdUsers(db: Queryable, userIds: readonly bigint[]): Promise<ReadonlySet<bigint>> {
  return new Set((await selectForKeyShare(db, [userIds])).map((row) => BigInt(row.id)));
}

/**
 * Locks the rows of those who exist and were not deleted, in ascending id order, so that two commands on the same people
 * never deadlock.
 */
export async function lockUsers(db: Queryable, userIds: readonly bigint[]): Promise<ReadonlySet<bigint>> {
  const rows = await selectForUpdate(db, [userIds]);
  return new Set(rows.filter((row) => !row.is_deleted).map((row) => BigInt(row.id)));
}

/** Fields that are undefined stay as they are. */
export interface ProfileChange {
  readonly displayName: string | undefined;
  readonly avatarUrl: string | null | undefined;
}

export async function saveProfile(db: Queryable, userId: bigint, change: ProfileChange): Promise<void> {
  const { displayName = null, avatarUrl } = change;
  await updateProfile(db, [userId, displayName, avatarUrl !== undefined, avatarUrl ?? null]);
}

export interface UserCounts {
  readonly followers: number;
  readonly following: number;
}

/** Unknown and deleted users are absent. */
export async function readUserCounts(
  db: Queryable,
  userIds: readonly bigint[],
): Promise<ReadonlyMap<bigint, UserCounts>> {
  const rows = await selectCounts(db, [userIds]);
  return new Map(
    rows.map((row) => [BigInt(row.id), { followers: row.follower_count, following: row.following_count }]),
  );
}

export async function findUserIdByHandle({ prisma }: Pick<Database, 'prisma'>, handle: string): Promise<bigint | null> {
  const user = await prisma.user.findUnique({ where: { handle, deletedAt: null }, select: { id: true } });
  return user && BigInt(user.id.toFixed());
}

// The second SELECT sees a row that was there before; a row of this statement comes from the first.
const selectExisting = defineStatement('users_exists', 'SELECT FROM users WHERE id = $1');

const insertUser = defineStatement<{ exists: boolean }>(
  'users_ensure',
  `WITH made AS (
     INSERT INTO users (id, handle, display_name) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id)
   SELECT EXISTS (SELECT FROM made) OR EXISTS (SELECT FROM users WHERE id = $1) AS exists`,
);

const updateProfile = defineStatement(
  'users_save_profile',
  `UPDATE users SET display_name = coalesce($2, display_name), avatar_url = CASE WHEN $3 THEN $4 ELSE avatar_url END
   WHERE id = $1`,
);

// KEY SHARE keeps a removal out and lets each other in.
const selectForKeyShare = defineStatement<{ id: string }>(
  'users_hold',
  'SELECT id FROM users WHERE id = ANY($1::numeric[]) AND deleted_at IS NULL ORDER BY id FOR KEY SHARE',
);

// NO KEY: rows that refer to these users by foreign key can be written meanwhile.
const selectForUpdate = defineStatement<{ id: string; is_deleted: boolean }>(
  'users_lock',
  `SELECT id, deleted_at IS NOT NULL AS is_deleted FROM users WHERE id = ANY($1::numeric[])
   ORDER BY id FOR NO KEY UPDATE`,
);

const selectCounts = defineStatement<{ id: string; follower_count: number; following_count: number }>(
  'users_counts',
  `SELECT id, ${followerCountSql('u')} AS follower_count, following_count FROM users u
   WHERE id = ANY($1::numeric[]) AND deleted_at IS NULL`,
);
