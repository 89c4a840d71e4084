import type { Entry } from '../domain/entry.js';
import { defineStatement, type Queryable } from './database.js';
import { visibleSql } from './visible-sql.js';

export type Visibility = 'PUBLIC' | 'FOLLOWERS' | 'PRIVATE';

export interface StoredMedia {
  readonly url: string;
  readonly kind: 'IMAGE' | 'VIDEO' | 'LINK';
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly altText?: string | undefined;
}

export interface NewContent {
  readonly contentId: bigint;
  readonly authorId: bigint;
  /** Epoch milliseconds. */
  readonly publishTime: number;
  readonly text: string;
  readonly media: readonly StoredMedia[];
  readonly visibility: Visibility;
  readonly repostOf: bigint | null;
  readonly idempotencyKey: string | null;
}

/**
 * Serializes what changes an author's contents until the transaction ends. Taken before an event draws its id, so that
 * the events of one author have their ids in commit order.
 */
export async function lockAuthor(db: Queryable, authorId: bigint): Promise<void> {
  await lockAuthorKey(db, [authorId]);
}

/** The content together with the row that follows its delivery; PENDING is in flight. */
export async function insertContent(db: Queryable, content: NewContent): Promise<void> {
  await insertContentRow(db, [
    content.contentId,
    content.authorId,
    content.publishTime,
    content.text,
    JSON.stringify(content.media),
    content.visibility,
    content.repostOf,
    content.idempotencyKey,
  ]);
  await insertFanout(db, [content.contentId, content.authorId, content.publishTime]);
}

export async function findContentByKey(db: Queryable, authorId: bigint, idempotencyKey: string): Promise<Entry | null> {
  const [row] = await selectByKey(db, [authorId, idempotencyKey]);
  return row ? readEntry(row) : null;
}

export interface ContentState {
  readonly authorId: bigint;
  readonly visibility: Visibility;
  readonly repostOf: bigint | null;
  readonly isDeleted: boolean;
}

/**
 * Counted are the reposts that somebody else may see: of private ones nobody else is told. Whether one stands is another
 * matter.
 */
export const isCountedRepost = ({ repostOf, visibility }: Pick<ContentState, 'repostOf' | 'visibility'>): boolean =>
  repostOf !== null && visibility !== 'PRIVATE';

/** SQL for the same of a row `c` that stands. */
export const countedRepostSql = (c: string): string => `${c}.repost_of IS NOT NULL AND ${c}.visibility <> 'PRIVATE'`;

/** Null when there never was such a content. */
export async function lockContent(db: Queryable, contentId: bigint): Promise<ContentState | null> {
  const [row] = await selectForUpdate(db, [contentId]);
  if (!row) return null;
  return {
    authorId: BigInt(row.author_id),
    visibility: row.visibility,
    repostOf: row.repost_of === null ? null : BigInt(row.repost_of),
    isDeleted: row.is_deleted,
  };
}

export async function markContentDeleted(db: Queryable, contentId: bigint): Promise<void> {
  await updateDeleted(db, [contentId]);
}

export async function updateVisibility(db: Queryable, contentId: bigint, visibility: Visibility): Promise<void> {
  await updateVisibilityRow(db, [contentId, visibility]);
}

export interface VisibleContent {
  readonly authorId: bigint;
  readonly repostOf: bigint | null;
  /** A repost that adds nothing of its own. */
  readonly isPureRepost: boolean;
}

/**
 * Those of the contents that the viewer may see now (visible-sql.ts).
 * @param viewerId null: somebody who is not signed in
 */
export async function readVisibleContents(
  db: Queryable,
  contentIds: readonly bigint[],
  viewerId: bigint | null,
  nowMs: number,
): Promise<ReadonlyMap<bigint, VisibleContent>> {
  const rows = await selectVisible(db, [contentIds, viewerId, nowMs]);
  return new Map(
    rows.map((row) => [
      BigInt(row.id),
      {
        authorId: BigInt(row.author_id),
        repostOf: row.repost_of === null ? null : BigInt(row.repost_of),
        isPureRepost: row.is_pure_repost,
      },
    ]),
  );
}

/** For each pair of a content and somebody: may that one see it, and is there a row of theirs? */
export async function readVisiblePairs(
  db: Queryable,
  pairs: readonly { readonly contentId: bigint; readonly userId: bigint }[],
  nowMs: number,
): Promise<{ isVisible: boolean; isKnownUser: boolean }[]> {
  const contentIds = pairs.map(({ contentId }) => contentId);
  const userIds = pairs.map(({ userId }) => userId);
  const rows = await selectVisiblePairs(db, [contentIds, userIds, nowMs]);
  return rows.map((row) => ({ isVisible: row.is_visible, isKnownUser: row.is_known_user }));
}

/** One page of an author's outbox as the viewer may see it, newest first, from `after` (exclusive) on. */
export async function readVisibleOutbox(
  db: Queryable,
  authorId: bigint,
  page: { viewerId: bigint | null; nowMs: number; after: Entry; limit: number },
): Promise<Entry[]> {
  const { viewerId, nowMs, after, limit } = page;
  const rows = await selectOutbox(db, [authorId, viewerId, nowMs, after.publishTime, after.contentId, limit]);
  return rows.map(readEntry);
}

interface EntryRow {
  id: string;
  publish_time: string;
}

const readEntry = (row: EntryRow): Entry => ({ contentId: BigInt(row.id), publishTime: Number(row.publish_time) });

const lockAuthorKey = defineStatement(
  'contents_lock_author',
  `SELECT pg_advisory_xact_lock(hashtextextended('author:' || $1::numeric, 0))`,
);

const insertContentRow = defineStatement(
  'contents_insert',
  `INSERT INTO contents (id, author_id, publish_time, text, media, visibility, repost_of, idempotency_key)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
);

const insertFanout = defineStatement(
  'contents_insert_fanout',
  'INSERT INTO fanouts (content_id, author_id, publish_time) VALUES ($1, $2, $3)',
);

const selectByKey = defineStatement<EntryRow>(
  'contents_by_key',
  'SELECT id, publish_time FROM contents WHERE author_id = $1 AND idempotency_key = $2',
);

const selectForUpdate = defineStatement<{
  author_id: string;
  visibility: Visibility;
  repost_of: string | null;
  is_deleted: boolean;
}>(
  'contents_lock',
  `SELECT author_id, visibility, repost_of, deleted_at IS NOT NULL AS is_deleted
   FROM contents WHERE id = $1 FOR NO KEY UPDATE`,
);

// What it said is gone, not hidden. The row stays: its id and place are taken for good.
const updateDeleted = defineStatement(
  'contents_delete',
  `UPDATE contents SET deleted_at = now(), text = '', media = '[]' WHERE id = $1`,
);

const updateVisibilityRow = defineStatement('contents_visibility', 'UPDATE contents SET visibility = $2 WHERE id = $1');

const selectVisible = defineStatement<{
  id: string;
  author_id: string;
  repost_of: string | null;
  is_pure_repost: boolean;
}>(
  'contents_visible',
  `SELECT id, author_id, repost_of, repost_of IS NOT NULL AND text = '' AND media = '[]' AS is_pure_repost
   FROM contents c WHERE id = ANY($1::numeric[]) AND ${visibleSql('c', '$2::numeric', '$3::bigint')}`,
);

const selectVisiblePairs = defineStatement<{ is_visible: boolean; is_known_user: boolean }>(
  'contents_visible_pairs',
  `SELECT EXISTS (
       SELECT FROM contents c WHERE c.id = p.content_id AND ${visibleSql('c', 'p.user_id', '$3::bigint')}) AS is_visible,
     EXISTS (SELECT FROM users u WHERE u.id = p.user_id) AS is_known_user
   FROM unnest($1::numeric[], $2::numeric[]) WITH ORDINALITY AS p (content_id, user_id, place) ORDER BY place`,
);

const selectOutbox = defineStatement<EntryRow>(
  'contents_outbox',
  `SELECT id, publish_time FROM contents c
   WHERE author_id = $1::numeric AND (publish_time, id) < ($4::bigint, $5::numeric)
     AND ${visibleSql('c', '$2::numeric', '$3::bigint', '$1::numeric')}
   ORDER BY publish_time DESC, id DESC LIMIT $6`,
);
