import { countedRepostSql } from './contents.js';
import type { Queryable } from './database.js';
import { startNewEpoch } from './feed-state.js';
import { EVENTS_CHANNEL } from './relay-events.js';

export const IMPORT_KINDS = ['user', 'follow', 'content', 'like', 'comment'] as const;
export type ImportKind = (typeof IMPORT_KINDS)[number];

/** Lines of one kind. */
export interface KindCounts {
  readonly new: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly bad: number;
}

export interface MergeCounts {
  readonly kinds: Record<ImportKind, KindCounts>;
  /** Users created because other lines name them. */
  readonly namedUsers: number;
}

/**
 * Writes the checked lines in one transaction, each row at most once: rows are inserted ON CONFLICT DO NOTHING, and
 * counts and seqs move by the rows that were really inserted. Locks are taken in ascending ids, users before counters,
 * as commands take them; imports go one after the other.
 */
export async function mergeStaged(
  db: Queryable,
  { nowMs, deliver }: { nowMs: number; deliver: boolean },
): Promise<MergeCounts> {
  const count = async (text: string, values: unknown[] = []): Promise<number> =>
    (await db.query(text, values)).rowCount ?? 0;

  await db.query('BEGIN');
  await db.query(`SELECT pg_advisory_xact_lock(hashtextextended('tideline import', 0))`);
  const users = (await db.query<{ is_new: boolean; number: string }>(MERGE_USERS)).rows;
  const usersOf = (isNew: boolean): number => Number(users.find((row) => row.is_new === isNew)?.number ?? 0);
  const namedUsers = await count(CREATE_NAMED_USERS);
  await db.query('CREATE TEMP TABLE import_counts (content_id numeric, likes int, comments int, reposts int)');
  const contents = await count(INSERT_CONTENTS);
  await db.query(
    `INSERT INTO import_counts SELECT repost_of, 0, 0, 1 FROM import_contents c WHERE ${countedRepostSql('c')}`,
  );
  const likes = await count(INSERT_LIKES);
  const comments = await count(INSERT_COMMENTS);
  await db.query(LOCK_FOLLOWING_USERS);
  const follows = await count(FIND_NEW_FOLLOWS);
  if (follows > 0) {
    await db.query(COUNT_FOLLOWS);
    await db.query(INSERT_FOLLOWS);
  }
  await db.query(MARK_ACTIVE);
  await db.query(ADD_COUNTERS);
  if (contents > 0) await (deliver ? db.query(SEND_TO_DELIVERY) : skipDelivery(db));
  await db.query('COMMIT');

  const fresh = { user: usersOf(true), follow: follows, content: contents, like: likes, comment: comments };
  return { kinds: await countKinds(db, fresh, usersOf(false)), namedUsers };

  /** Nothing pushes these contents: every inbox counts as missing until its owner reads, which pulls them. */
  async function skipDelivery(queryable: Queryable): Promise<void> {
    await queryable.query(MARK_DELIVERED, [new Date(nowMs)]);
    await startNewEpoch(queryable);
  }
}

async function countKinds(
  db: Queryable,
  fresh: Record<ImportKind, number>,
  changedUsers: number,
): Promise<Record<ImportKind, KindCounts>> {
  const { rows } = await db.query<{ kind: ImportKind; lines: string; bad: string }>(
    'SELECT kind, lines, (SELECT count(*) FROM import_bad b WHERE b.kind = s.kind) AS bad FROM import_staged s',
  );
  return Object.fromEntries(
    rows.map(({ kind, ...row }) => {
      const changed = kind === 'user' ? changedUsers : 0;
      const bad = Number(row.bad);
      return [kind, { new: fresh[kind], changed, unchanged: Number(row.lines) - bad - fresh[kind] - changed, bad }];
    }),
  ) as Record<ImportKind, KindCounts>;
}

// A user line is the wanted profile; one that was made by default, or by an earlier file, is replaced.
const MERGE_USERS = `
  WITH merged AS (
    INSERT INTO users AS u (id, handle, display_name, avatar_url)
    SELECT id, handle, display_name, avatar_url FROM import_users ORDER BY id
    ON CONFLICT (id) DO UPDATE
      SET handle = excluded.handle, display_name = excluded.display_name, avatar_url = excluded.avatar_url
      WHERE u.deleted_at IS NULL AND (u.handle, u.display_name, u.avatar_url) IS DISTINCT FROM
            (excluded.handle, excluded.display_name, excluded.avatar_url)
    RETURNING xmax = 0 AS is_new)
  SELECT is_new, count(*) AS number FROM merged GROUP BY is_new`;

// As ensureUser does it: default handle, or that twice when somebody chose it.
const CREATE_NAMED_USERS = `
  INSERT INTO users (id, handle, display_name)
  SELECT id, CASE WHEN EXISTS (SELECT FROM users t WHERE t.handle = name) THEN name || '.' || name ELSE name END, name
  FROM (
    SELECT id, 'user_' || id AS name FROM (
      SELECT follower_id AS id FROM import_follows UNION SELECT followee_id FROM import_follows
      UNION SELECT author_id FROM import_contents
      UNION SELECT user_id FROM import_likes UNION SELECT user_id FROM import_comments) named
    WHERE NOT EXISTS (SELECT FROM users u WHERE u.id = named.id)) missing
  ORDER BY id
  ON CONFLICT (id) DO NOTHING`;

const INSERT_CONTENTS = `
  INSERT INTO contents (id, author_id, publish_time, text, media, visibility, repost_of)
  SELECT id, author_id, publish_time, text, media, visibility, repost_of FROM import_contents
  ORDER BY author_id, publish_time, id
  ON CONFLICT (id) DO NOTHING`;

// A like that was taken back since stays taken back.
const INSERT_LIKES = `
  WITH added AS (
    INSERT INTO reactions (content_id, user_id, kind, active, version, changed_at)
    SELECT content_id, user_id, 'LIKE', true, 1, to_timestamp(min(at) / 1000.0) FROM import_likes
    GROUP BY content_id, user_id ORDER BY content_id, user_id
    ON CONFLICT (content_id, kind, user_id) DO NOTHING RETURNING content_id)
  INSERT INTO import_counts SELECT content_id, 1, 0, 0 FROM added`;

const INSERT_COMMENTS = `
  WITH added AS (
    INSERT INTO comments (id, content_id, user_id, text, created_at)
    SELECT id, content_id, user_id, text, at FROM import_comments ORDER BY content_id, at, id
    ON CONFLICT (id) DO NOTHING RETURNING content_id)
  INSERT INTO import_counts SELECT content_id, 0, 1, 0 FROM added`;

// As lockUsers does it. Under these locks nobody else adds or ends a follow of these users.
const LOCK_FOLLOWING_USERS = `
  SELECT count(*) FROM (
    SELECT FROM users
    WHERE id IN (SELECT follower_id FROM import_follows UNION SELECT followee_id FROM import_follows)
    ORDER BY id FOR NO KEY UPDATE) locked`;

const FIND_NEW_FOLLOWS = `
  CREATE TEMP TABLE import_new_follows AS
  SELECT follower_id, followee_id, min(at) AS at FROM import_follows s
  WHERE NOT EXISTS (SELECT FROM follows f WHERE f.follower_id = s.follower_id AND f.followee_id = s.followee_id)
    AND NOT EXISTS (SELECT FROM users WHERE id IN (s.follower_id, s.followee_id) AND deleted_at IS NOT NULL)
  GROUP BY follower_id, followee_id`;

// One seq for all new follows of a reader: they become visible together.
const COUNT_FOLLOWS = `
  UPDATE users u
  SET follow_seq = follow_seq + (moved.following > 0)::int,
      following_count = following_count + moved.following,
      follower_count = follower_count + moved.followers
  FROM (
    SELECT id, sum(following)::int AS following, sum(followers)::int AS followers
    FROM (SELECT follower_id AS id, 1 AS following, 0 AS followers FROM import_new_follows
          UNION ALL SELECT followee_id, 0, 1 FROM import_new_follows) ends
    GROUP BY id) moved
  WHERE u.id = moved.id`;

const INSERT_FOLLOWS = `
  INSERT INTO follows (follower_id, followee_id, follow_seq, created_at)
  SELECT n.follower_id, n.followee_id, u.follow_seq, to_timestamp(n.at / 1000.0)
  FROM import_new_follows n JOIN users u ON u.id = n.follower_id
  ORDER BY n.follower_id, n.followee_id`;

// Whoever is seen later than known may have been passed by pushes in between. The seqs say so whatever the windows are.
const MARK_ACTIVE = `
  INSERT INTO activity AS a (user_id, last_active_at)
  SELECT id, last_active_at FROM import_users WHERE last_active_at IS NOT NULL ORDER BY id
  ON CONFLICT (user_id) DO UPDATE
    SET last_active_at = excluded.last_active_at, active_seq = a.active_seq + 1, awake_seq = a.awake_seq + 1
    WHERE a.last_active_at < excluded.last_active_at`;

// Waits for the rows, in the order of their ids; commands that find them locked meanwhile count in shards.
const ADD_COUNTERS = `
  WITH counted AS (
    INSERT INTO content_counters AS c (content_id, likes, comments, reposts, version, comment_version)
    SELECT content_id, sum(likes)::int, sum(comments)::int, sum(reposts)::int, 1, (sum(comments) > 0)::int
    FROM import_counts GROUP BY content_id ORDER BY content_id
    ON CONFLICT (content_id) DO UPDATE
      SET likes = c.likes + excluded.likes, comments = c.comments + excluded.comments,
          reposts = c.reposts + excluded.reposts, version = c.version + 1,
          comment_version = c.comment_version + excluded.comment_version
    RETURNING content_id)
  INSERT INTO counter_changes (content_id) SELECT content_id FROM counted`;

const MARK_DELIVERED = `
  INSERT INTO fanouts (content_id, author_id, publish_time, state, is_planned, started_at, finished_at)
  SELECT id, author_id, publish_time, 'DONE', true, $1, $1 FROM import_contents ORDER BY id
  ON CONFLICT (content_id) DO NOTHING`;

// Oldest first. Authors are not locked (lockAuthor) as for commands: an event on one of these contents can only follow the
// commit that shows them, so that its id is greater.
const SEND_TO_DELIVERY = `
  WITH pending AS (
    INSERT INTO fanouts (content_id, author_id, publish_time)
    SELECT id, author_id, publish_time FROM import_contents ORDER BY id
    ON CONFLICT (content_id) DO NOTHING RETURNING content_id, author_id, publish_time),
  sent AS (
    INSERT INTO events (type, author_id, content_id)
    SELECT 'content.published', author_id, content_id FROM pending ORDER BY publish_time, content_id)
  SELECT pg_notify('${EVENTS_CHANNEL}', '')`;
