import { commentVersionSql } from './counters.js';
import { defineStatement, type Queryable } from './database.js';
import { notBlockedSql } from './visible-sql.js';

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

/** Where a comment stands among those of its content: by its time, then by its id as a number. */
export type CommentPlace = Pick<StoredComment, 'createdAt' | 'commentId'>;

/** Absent are deleted and unknown ones, and those by whom the viewer blocks or is blocked by. */
export async function readComments(
  db: Queryable,
  commentIds: readonly bigint[],
  viewerId: bigint | null,
): Promise<ReadonlyMap<bigint, StoredComment>> {
  const rows = await selectComments(db, [commentIds, viewerId]);
  return new Map(rows.map((row) => [BigInt(row.id), readComment(row)]));
}

/** Newest first, from `after` (exclusive) on, without those by whom the viewer blocks or is blocked by. */
export async function readCommentPage(
  db: Queryable,
  contentId: bigint,
  page: { viewerId: bigint | null; after: CommentPlace; limit: number },
): Promise<StoredComment[]> {
  const { viewerId, after, limit } = page;
  return (await selectPage(db, [contentId, after.createdAt, after.commentId, limit, viewerId])).map(readComment);
}

/**
 * Comments by their ids, as readComments, with the version of all comments of their content as of the same instant: what
 * was read elsewhere as of that version is as it is now.
 */
export async function readCommentsAndVersion(
  db: Queryable,
  contentId: bigint,
  commentIds: readonly bigint[],
  viewerId: bigint | null,
): Promise<{ version: bigint; comments: ReadonlyMap<bigint, StoredComment> }> {
  const rows = await selectCommentsAndVersion(db, [commentIds, viewerId, contentId]);
  const comments = rows.flatMap((row) => (row.id === null ? [] : [readComment(row as CommentRow)]));
  return {
    version: BigInt(rows[0]?.version ?? 0),
    comments: new Map(comments.map((comment) => [comment.commentId, comment])),
  };
}

/** Where the newest comments stand, at most `limit`, with the version of all as of the same instant. */
export async function readNewestPlaces(
  db: Queryable,
  contentId: bigint,
  limit: number,
): Promise<{ version: bigint; places: CommentPlace[] }> {
  const [row] = await selectNewestPlaces(db, [contentId, limit]);
  const places = (row?.places ?? []).map((place) => {
    const [createdAt, commentId = '0'] = place.split(' ');
    return { createdAt: Number(createdAt), commentId: BigInt(commentId) };
  });
  return { version: BigInt(row?.version ?? 0), places };
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

const shownSql = `id = ANY($1::numeric[]) AND deleted_at IS NULL AND ${notBlockedSql('$2::numeric', 'm.user_id')}`;

const selectComments = defineStatement<CommentRow>(
  'comments_by_id',
  `SELECT id, content_id, user_id, text, created_at FROM comments m WHERE ${shownSql}`,
);

// One row at least, for the version.
const selectCommentsAndVersion = defineStatement<{ [K in keyof CommentRow]: string | null } & { version: string }>(
  'comments_by_id_and_version',
  `SELECT v.version, c.* FROM (SELECT ${commentVersionSql('$3::numeric')} AS version) v
   LEFT JOIN (SELECT id, content_id, user_id, text, created_at FROM comments m WHERE ${shownSql}) c ON true`,
);

const selectNewestPlaces = defineStatement<{ version: string; places: string[] | null }>(
  'comments_newest_places',
  `SELECT ${commentVersionSql('$1::numeric')} AS version,
     (SELECT array_agg(concat_ws(' ', created_at, id)) FROM (
        SELECT created_at, id FROM comments WHERE content_id = $1::numeric AND deleted_at IS NULL
        ORDER BY created_at DESC, id DESC LIMIT $2) n) AS places`,
);

const selectPage = defineStatement<CommentRow>(
  'comments_page',
  `SELECT id, content_id, user_id, text, created_at FROM comments m
   WHERE content_id = $1 AND deleted_at IS NULL AND (created_at, id) < ($2::bigint, $3::numeric)
     AND ${notBlockedSql('$5::numeric', 'm.user_id')}
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
