import { ENTRY_MIN, ENTRY_TOP, type Direction, type Entry } from '../domain/entry.js';
import type { ReaderSeqs } from '../domain/inbox-head.js';
import type { ActivityWindows, FeedMode } from '../domain/push-policy.js';
import { defineStatement, type Queryable } from './database.js';

/** What the authority says of one reader, all as of one instant. */
export interface ReaderState extends ReaderSeqs, ActivityWindows {
  readonly feedMode: FeedMode;
  readonly inboxStore: string;
  /** Epoch milliseconds; null when never seen. */
  readonly lastActiveAt: number | null;
  /** The reader's account was deleted. */
  readonly isDeleted: boolean;
  readonly followsNobody: boolean;
  /** Contents of followees whose delivery is not finished, in walking order, at most `limit`. */
  readonly inFlight: readonly Entry[];
}

/**
 * One statement, so one snapshot: what is not in flight in it was delivered before it, by the modes and follows that it
 * shows. It must be read before the inbox (docs/decisions/0003-completeness.md).
 */
export async function readReaderState(
  db: Queryable,
  userId: bigint,
  walk: { from: Entry | null; direction: Direction; limit: number },
): Promise<ReaderState> {
  const older = walk.direction === 'older';
  const from = walk.from ?? (older ? ENTRY_TOP : ENTRY_MIN);
  const args = [String(userId), from.publishTime, String(from.contentId), walk.limit];
  const [row] = await (older ? selectOlder : selectNewer)(db, args);
  if (!row) throw new Error('feed_state has no row: the database is not migrated');
  return {
    epoch: BigInt(row.epoch),
    followSeq: BigInt(row.follow_seq),
    activeSeq: BigInt(row.active_seq),
    awakeSeq: BigInt(row.awake_seq),
    feedMode: row.feed_mode,
    inboxStore: row.inbox_store,
    activeMs: Number(row.active_ms),
    dormantMs: Number(row.dormant_ms),
    lastActiveAt: row.last_active_at === null ? null : Number(row.last_active_at),
    isDeleted: row.is_deleted,
    followsNobody: !row.follows_somebody,
    inFlight: rowsOf(row.in_flight).map(([time, id]) => ({
      publishTime: Number(time),
      contentId: BigInt(id as string),
    })),
  };
}

/** Lists come as one text, `a b c,a b c`: parsing it costs a fifth of the driver's rows for 500 followees. */
const rowsOf = (text: string | null): string[][] => (text ? text.split(',').map((row) => row.split(' ')) : []);

interface StateRow {
  epoch: string;
  feed_mode: FeedMode;
  inbox_store: string;
  active_ms: string;
  dormant_ms: string;
  follow_seq: string;
  active_seq: string;
  awake_seq: string;
  last_active_at: string | null;
  is_deleted: boolean;
  follows_somebody: boolean;
  in_flight: string | null;
}

const IN_FLIGHT_WINDOW = 500;

// What is in flight: a look at the next IN_FLIGHT_WINDOW of all contents, followed or not, settles it while the backlog is
// short, or long everywhere. Else each followee is asked for one row, and those whose first comes first for the rest: the
// next `limit` are theirs. Asking each for `limit` rows made a page 2.5 times dearer with 200,000 contents in flight.
const stateStatement = (name: string, comparison: '<' | '>', direction: 'ASC' | 'DESC') => {
  const inOrder = (row: string): string => `ORDER BY ${row}.publish_time ${direction}, ${row}.content_id ${direction}`;
  const asText = (row: string): string =>
    `SELECT string_agg(concat_ws(' ', ${row}.publish_time, ${row}.content_id), ',' ${inOrder(row)})`;
  const unfinished = `FROM fanouts n WHERE n.state <> 'DONE' AND (n.publish_time, n.content_id) ${comparison} ($2::bigint, $3::numeric)`;
  const nextOf = (author: string, limit: string): string =>
    `(SELECT n.publish_time, n.content_id ${unfinished} AND n.author_id = ${author} ${inOrder('n')} LIMIT ${limit})`;
  return defineStatement<StateRow>(
    name,
    `WITH next AS MATERIALIZED (
       SELECT n.author_id, n.publish_time, n.content_id ${unfinished} ${inOrder('n')} LIMIT ${IN_FLIGHT_WINDOW}),
     followed AS MATERIALIZED (
       SELECT next.publish_time, next.content_id FROM next JOIN follows f ON f.follower_id = $1 AND f.followee_id = author_id
       ${inOrder('next')} LIMIT $4)
     SELECT s.epoch, s.feed_mode, s.inbox_store, s.active_ms, s.dormant_ms, coalesce(u.follow_seq, 0) AS follow_seq,
       u.deleted_at IS NOT NULL AS is_deleted,
       coalesce(a.active_seq, 0) AS active_seq, coalesce(a.awake_seq, 0) AS awake_seq, a.last_active_at,
       EXISTS (SELECT FROM follows WHERE follower_id = $1) AS follows_somebody,
       CASE WHEN (SELECT count(*) FROM next) < ${IN_FLIGHT_WINDOW} OR (SELECT count(*) FROM followed) = $4
         THEN (${asText('followed')} FROM followed)
         ELSE (${asText('p')} FROM (
           SELECT d.* FROM (
               SELECT f.followee_id FROM follows f CROSS JOIN LATERAL ${nextOf('f.followee_id', '1')} first
               WHERE f.follower_id = $1 ${inOrder('first')} LIMIT $4) authors
             CROSS JOIN LATERAL ${nextOf('authors.followee_id', '$4')} d
             ${inOrder('d')} LIMIT $4) p) END AS in_flight
     FROM feed_state s LEFT JOIN users u ON u.id = $1 LEFT JOIN activity a ON a.user_id = $1
     WHERE s.id = 1`,
  );
};

const selectOlder = stateStatement('reader_state_older', '<', 'DESC');
const selectNewer = stateStatement('reader_state_newer', '>', 'ASC');

export interface Followee {
  readonly userId: bigint;
  readonly followSeq: bigint;
  /** Some content of theirs was pushed to active followers only. */
  readonly isPulled: boolean;
}

/**
 * Whom the reader follows, without deleted accounts. Read after the reader's state it may know of later follows: their
 * seqs are greater than any that an inbox of that state covers.
 */
export async function readFollowees(db: Queryable, userId: bigint): Promise<Followee[]> {
  const [row] = await selectFollowees(db, [String(userId)]);
  return rowsOf(row?.followees ?? null).map(([id, seq, pulled]) => ({
    userId: BigInt(id as string),
    followSeq: BigInt(seq as string),
    isPulled: pulled === '1',
  }));
}

const selectFollowees = defineStatement<{ followees: string | null }>(
  'reader_followees',
  `SELECT string_agg(concat_ws(' ', f.followee_id, f.follow_seq, e.has_pulled_contents::int), ',') AS followees
   FROM follows f JOIN users e ON e.id = f.followee_id AND e.deleted_at IS NULL WHERE f.follower_id = $1`,
);
