import { defineStatement, type Queryable } from './database.js';

export interface StoredComment {
  readonly commentId: bigint;
  readonly contentId: bigint;
  readonly userId: bigint;
  readonly text: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** The comment that stands under this user's key: the new one, or an earlier one with the same key. */
export async function insertComment(
  db: Queryable,
  comment: StoredComment,
  idempotencyKey: string | null,
): Promise<{ comment: StoredComment; isNew: boolean }> {
  const { commentId, contentId, userId, text, createdAt } = comment;
  const inserted = await insertRow(db, [commentId, contentId, userId, text, createdAt, idempotencyKey]);
  if (inserted.length > 0) return { comment, isNew: true };
  // The insert waited for whoever holds the key, so a new snapshot sees that row.
  const [earlier] = await selectByKey(db, [userId, idempotencyKey]);
  if (!earlier) throw new Error('the comment under this idempotency key has vanished');
  return { comment: readComment(earlier), isNew: false };
}

/** Deleted and unknown ones are absent. */
export async function readComments(
  db: Queryable,
  commentIds: readonly bigint[],
): Promise<ReadonlyMap<bigint, StoredComment>> {
  const rows = await selectComments(db, [commentIds]);
  return new Map(rows.map((row) => [BigInt(row.id), readComment(row)]));
}

/** Newest first, from `after` (exclusive) on. */
export async function readCommentPage(
  db: Queryable,
  contentId: bigint,
  after: { createdAt: number; commentId: bigint },
  limit: number,
): Promise<StoredComment[]> {
  return (await selectPage(db, [contentId, after.createdAt, after.commentId, limit])).map(readComment);
}

export interface CommentState {
  readonly contentId: bigint;
  readonly userId: bigint;
  readonly contentAuthorId: bigint;
  readonly isDeleted: boolean;
}

export async function lockComment(db: Queryable, commentId: bigint): Promise<CommentState | null> {
  const [row] = await selectForUpdate(db, [commentId]);
  if (!row) return null;
  return {
    contentId: BigInt(row.content_id),
    userId: BigInt(row.user_id),
    contentAuthorId: BigInt(row.author_id),
    isDeleted: row.is_deleted,
  };
}

export async function markCommentDeleted(db: Queryable, commentId: bigint): Promise<void> {
  await updateDeleted(db, [commentId]);
}

interface CommentRow {
  id: string;
  content_id: string;
  user_id: string;
  text: string;
  created_at: string;
}

const readComment = (row: CommentRow): StoredComment => ({
  commentId: BigInt(row.id),
  contentId: BigInt(row.content_id),
  userId: BigInt(row.user_id),
  text: row.text,
  createdAt: Number(row.created_at),
});

const insertRow = defineStatement(
  'comments_insert',
  `INSERT INTO comments (id, content_id, user_id, text, created_at, idempotency_key) VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT (user_id, idempotency_key) DO NOTHING RETURNING id`,
);

const selectByKey = defineStatement<CommentRow>(
  'comments_by_key',
  'SELECT id, content_id, user_id, text, created_at FROM comments WHERE user_id = $1 AND idempotency_key = $2',
);

const selectComments = defineStatement<CommentRow>(
  'comments_by_id',
  `SELECT id, content_id, user_id, text, created_at FROM comments
   WHERE id = ANY($1::numeric[]) AND deleted_at IS NULL`,
);

const selectPage = defineStatement<CommentRow>(
  'comments_page',
  `SELECT id, content_id, user_id, text, created_at FROM comments
   WHERE content_id = $1 AND deleted_at IS NULL AND (created_at, id) < ($2::bigint, $3::numeric)
   ORDER BY created_at DESC, id DESC LIMIT $4`,
);

const selectForUpdate = defineStatement<{
  content_id: string;
  user_id: string;
  author_id: string;
  is_deleted: boolean;
}>(
  'comments_lock',
  `SELECT m.content_id, m.user_id, c.author_id, m.deleted_at IS NOT NULL AS is_deleted
   FROM comments m JOIN contents c ON c.id = m.content_id WHERE m.id = $1 FOR NO KEY UPDATE OF m`,
);

const updateDeleted = defineStatement(
  'comments_delete',
  `UPDATE comments SET deleted_at = now(), text = '' WHERE id = $1`,
);
