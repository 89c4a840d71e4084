import { defineStatement, type Queryable } from './database.js';

export type ReactionKind = 'LIKE' | 'FAVORITE';

export interface ReactionKey {
  readonly contentId: bigint;
  readonly userId: bigint;
  readonly kind: ReactionKind;
}

export interface ReactionState {
  readonly active: boolean;
  readonly version: number;
}

/** A user who liked a content, and when (epoch milliseconds). */
export interface Liker {
  readonly userId: bigint;
  readonly likedAt: number;
}

/** The state as it is, locked until the transaction ends. A first reaction starts from inactive, version 0. */
export async function lockReaction(db: Queryable, key: ReactionKey): Promise<ReactionState> {
  const values = [key.contentId, key.userId, key.kind];
  // A row to lock: two first likes at once would else both count.
  await insertNeutral(db, values);
  const [row] = await selectForUpdate(db, values);
  if (!row) throw new Error('the reaction has vanished under its lock');
  return row;
}

/** The reaction must be locked. `changed_at`, the place among the likers, moves only when `active` does. */
export async function saveReaction(db: Queryable, key: ReactionKey, state: ReactionState): Promise<void> {
  await updateReaction(db, [key.contentId, key.userId, key.kind, state.active, state.version]);
}

/** Most recent first. */
export async function readLikers(
  db: Queryable,
  contentId: bigint,
  after: Liker | null,
  limit: number,
): Promise<Liker[]> {
  const rows = await (after
    ? selectLikersAfter(db, [contentId, limit, new Date(after.likedAt), after.userId])
    : selectLikers(db, [contentId, limit]));
  return rows.map((row) => ({ userId: BigInt(row.user_id), likedAt: row.changed_at.getTime() }));
}

const insertNeutral = defineStatement(
  'reactions_insert_neutral',
  `INSERT INTO reactions (content_id, user_id, kind, active, version) VALUES ($1, $2, $3, false, 0)
   ON CONFLICT DO NOTHING`,
);

const selectForUpdate = defineStatement<ReactionState>(
  'reactions_lock',
  'SELECT active, version FROM reactions WHERE content_id = $1 AND user_id = $2 AND kind = $3 FOR NO KEY UPDATE',
);

const updateReaction = defineStatement(
  'reactions_save',
  `UPDATE reactions SET version = $5, active = $4, changed_at = CASE WHEN active = $4 THEN changed_at ELSE now() END
   WHERE content_id = $1 AND user_id = $2 AND kind = $3`,
);

const likersStatement = (name: string, condition: string) =>
  defineStatement<{ user_id: string; changed_at: Date }>(
    name,
    `SELECT user_id, changed_at FROM reactions WHERE content_id = $1 AND kind = 'LIKE' AND active ${condition}
     ORDER BY changed_at DESC, user_id DESC LIMIT $2`,
  );

const selectLikers = likersStatement('reactions_likers', '');
const selectLikersAfter = likersStatement(
  'reactions_likers_after',
  'AND (changed_at, user_id) < ($3::timestamptz, $4::numeric)',
);
