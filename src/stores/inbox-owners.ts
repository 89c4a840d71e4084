import type { Entry } from '../domain/entry.js';
import { defineStatement, type Queryable } from './database.js';

/** Those whose inboxes nothing is pushed to any more: not seen since (epoch milliseconds), never seen, or removed. */
export async function listLapsedReaders(
  db: Queryable,
  userIds: readonly bigint[],
  activeSince: number,
): Promise<bigint[]> {
  return idsOf(await selectLapsed(db, [userIds.map(String), Math.floor(activeSince)]));
}

/** Those who are removed, or whose contents readers do not pull. */
export async function listUnprojectedAuthors(db: Queryable, userIds: readonly bigint[]): Promise<bigint[]> {
  return idsOf(await selectUnprojected(db, [userIds.map(String)]));
}

export interface StaleEntries {
  /** Of the reader, as of the same instant. */
  readonly followSeq: bigint;
  /** Gone for good: deleted, or their id names another content now. */
  readonly deleted: readonly Entry[];
  /** By authors whom the reader does not follow. */
  readonly unfollowed: readonly Entry[];
}

/** What an inbox holds in vain. */
export async function findStaleEntries(
  db: Queryable,
  readerId: bigint,
  entries: readonly Entry[],
): Promise<StaleEntries> {
  const times = entries.map((entry) => entry.publishTime);
  const rows = await selectStale(db, [String(readerId), times, entries.map((entry) => String(entry.contentId))]);
  const of = (isGone: boolean) =>
    rows
      .filter((row) => row.id !== null && row.is_gone === isGone)
      .map((row) => ({ publishTime: Number(row.time), contentId: BigInt(row.id as string) }));
  return { followSeq: BigInt(rows[0]?.follow_seq ?? 0), deleted: of(true), unfollowed: of(false) };
}

const idsOf = (rows: readonly { id: string }[]): bigint[] => rows.map((row) => BigInt(row.id));

const selectLapsed = defineStatement<{ id: string }>(
  'inbox_owners_lapsed',
  `SELECT o.id FROM unnest($1::numeric[]) AS o(id) LEFT JOIN activity a ON a.user_id = o.id
   WHERE coalesce(a.last_active_at, -1) < $2 OR NOT EXISTS (SELECT FROM users u WHERE u.id = o.id)`,
);

const selectUnprojected = defineStatement<{ id: string }>(
  'outbox_owners_unprojected',
  `SELECT o.id FROM unnest($1::numeric[]) AS o(id)
   WHERE NOT EXISTS (SELECT FROM users u WHERE u.id = o.id AND u.has_pulled_contents)`,
);

// One row without an entry where nothing is stale, for the seq.
const selectStale = defineStatement<{ follow_seq: string; time: string | null; id: string | null; is_gone: boolean }>(
  'inbox_stale_entries',
  `SELECT r.follow_seq, s.time, s.id, s.is_gone
   FROM (SELECT coalesce((SELECT follow_seq FROM users WHERE id = $1), 0) AS follow_seq) r LEFT JOIN LATERAL (
     SELECT e.time, e.id, c.id IS NULL OR c.deleted_at IS NOT NULL OR c.publish_time <> e.time AS is_gone
     FROM unnest($2::bigint[], $3::numeric[]) AS e(time, id) LEFT JOIN contents c ON c.id = e.id
     WHERE c.id IS NULL OR c.deleted_at IS NOT NULL OR c.publish_time <> e.time OR (
       c.author_id <> $1 AND NOT EXISTS (SELECT FROM follows f WHERE f.follower_id = $1 AND f.followee_id = c.author_id))
   ) s ON true`,
);
