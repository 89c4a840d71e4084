import type { Queryable } from './database.js';

/**
 * Takes out of the staged lines, and into `import_bad` with a reason, those that contradict an earlier line or the
 * database. Of lines that say the same, the first stays. Runs outside of the merge's transaction: what changes in between
 * is met again by its ON CONFLICT clauses.
 */
export async function checkStaged(db: Queryable): Promise<void> {
  for (const statement of CHECKS) await db.query(statement);
}

/** Of several lines on one key the first stays; the others repeat it or contradict it. */
const takeRepeats = (table: string, kind: string, columns: string): string => `
  WITH firsts AS (SELECT id, min(line) AS line FROM ${table} GROUP BY id HAVING count(*) > 1),
  repeats AS (
    SELECT other.line, other.id, first.line AS first_line,
           (SELECT r FROM (SELECT ${qualify('other', columns)}) r) IS DISTINCT FROM
           (SELECT r FROM (SELECT ${qualify('first', columns)}) r) AS differs
    FROM firsts JOIN ${table} first USING (id, line) JOIN ${table} other ON other.id = firsts.id AND other.line > firsts.line),
  gone AS (DELETE FROM ${table} s USING repeats WHERE s.line = repeats.line)
  INSERT INTO import_bad
  SELECT line, '${kind}', format('line %s says otherwise of ${kind} %s', first_line, id) FROM repeats WHERE differs`;

/** @param found a query of (line, reason) */
const takeBad = (table: string, kind: string, found: string): string => `
  WITH found AS MATERIALIZED (${found}),
  gone AS (DELETE FROM ${table} s USING found WHERE s.line = found.line)
  INSERT INTO import_bad SELECT line, '${kind}', min(reason) FROM found GROUP BY line`;

const takeUnknownContent = (table: string, kind: string): string =>
  takeBad(
    table,
    kind,
    `SELECT line, format('content %s is not known', content_id) AS reason FROM ${table} s
     WHERE NOT EXISTS (SELECT FROM import_contents c WHERE c.id = s.content_id)
       AND NOT EXISTS (SELECT FROM contents c WHERE c.id = s.content_id)`,
  );

/** Nothing comes back of an account that was deleted, and its id is not given to somebody else. */
const takeOfDeleted = (table: string, kind: string, ...columns: string[]): string =>
  takeBad(
    table,
    kind,
    `SELECT line, format('user %s was deleted', u.id) AS reason
     FROM ${table} s JOIN users u ON u.id IN (${columns.join(', ')}) AND u.deleted_at IS NOT NULL`,
  );

const qualify = (alias: string, columns: string): string =>
  columns
    .split(', ')
    .map((column) => `${alias}.${column}`)
    .join(', ');

const CHECKS = [
  `INSERT INTO import_staged
     SELECT 'user', count(*) FROM import_users UNION ALL SELECT 'follow', count(*) FROM import_follows
     UNION ALL SELECT 'content', count(*) FROM import_contents UNION ALL SELECT 'like', count(*) FROM import_likes
     UNION ALL SELECT 'comment', count(*) FROM import_comments`,
  `ANALYZE import_users, import_follows, import_contents, import_likes, import_comments`,

  takeOfDeleted('import_users', 'user', 's.id'),
  takeRepeats('import_users', 'user', 'handle, display_name, avatar_url, last_active_at'),
  takeBad(
    'import_users',
    'user',
    `SELECT s.line, format('handle %s belongs to user %s', s.handle, u.id) AS reason
     FROM import_users s JOIN users u ON u.handle = s.handle AND u.id <> s.id`,
  ),
  takeBad(
    'import_users',
    'user',
    `SELECT line, format('handle %s belongs to the user of line %s', handle, first_line) AS reason
     FROM (SELECT line, handle, min(line) OVER (PARTITION BY handle) AS first_line FROM import_users) s
     WHERE line > first_line`,
  ),

  takeOfDeleted('import_follows', 'follow', 's.follower_id', 's.followee_id'),
  takeBad(
    'import_follows',
    'follow',
    `SELECT line, format('users %s and %s are blocked from each other', follower_id, followee_id) AS reason
     FROM import_follows f JOIN blocks b
       ON (b.blocker_id, b.blocked_id) IN ((f.follower_id, f.followee_id), (f.followee_id, f.follower_id))`,
  ),

  takeOfDeleted('import_contents', 'content', 's.author_id'),
  takeRepeats('import_contents', 'content', 'author_id, publish_time, text, media, visibility, repost_of'),
  // Author and time are a content's place in every feed. The rest may have been changed since, and stays as it is.
  takeBad(
    'import_contents',
    'content',
    `SELECT s.line, format('content %s exists with another author or time', s.id) AS reason
     FROM import_contents s JOIN contents c ON c.id = s.id
     WHERE (c.author_id, c.publish_time) <> (s.author_id, s.publish_time)`,
  ),
  `DELETE FROM import_contents s USING contents c WHERE c.id = s.id`,
  `CREATE INDEX ON import_contents (repost_of) WHERE repost_of IS NOT NULL`,
  // A repost of a repost of nothing is one of nothing.
  takeBad(
    'import_contents',
    'content',
    `WITH RECURSIVE lost AS (
       SELECT line, id, repost_of FROM import_contents s
       WHERE repost_of IS NOT NULL
         AND NOT EXISTS (SELECT FROM import_contents o WHERE o.id = s.repost_of)
         AND NOT EXISTS (SELECT FROM contents o WHERE o.id = s.repost_of)
       UNION
       SELECT s.line, s.id, s.repost_of FROM lost JOIN import_contents s ON s.repost_of = lost.id)
     SELECT line, format('content %s, which it reposts, is not known', repost_of) AS reason FROM lost`,
  ),

  takeOfDeleted('import_likes', 'like', 's.user_id'),
  takeUnknownContent('import_likes', 'like'),

  takeOfDeleted('import_comments', 'comment', 's.user_id'),
  takeRepeats('import_comments', 'comment', 'content_id, user_id, text, at'),
  takeBad(
    'import_comments',
    'comment',
    `SELECT s.line, format('comment %s exists on another content or by another user', s.id) AS reason
     FROM import_comments s JOIN comments c ON c.id = s.id
     WHERE (c.content_id, c.user_id) <> (s.content_id, s.user_id)`,
  ),
  takeUnknownContent('import_comments', 'comment'),
  `DELETE FROM import_comments s USING comments c WHERE c.id = s.id`,
];
