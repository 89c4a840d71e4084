/** As many writers may count followers of one account at once; further ones wait for one of them. */
const SHARDS_MAX = 32;

/** SQL for the follower count of a user row `u`, exact as of the statement's snapshot. */
export const followerCountSql = (u: string): string =>
  `(${u}.follower_count + coalesce((SELECT sum(followers) FROM follower_count_shards WHERE user_id = ${u}.id), 0))::int`;

/**
 * SQL that counts, for each row of `rows`, `by` followers of `user` in a shard that nobody is writing to; an account gets
 * as many shards as it had writers at once, mostly one. It is the last lock that a transaction takes, and those who take
 * several take them in ascending user id: so nobody waits for a shard and is waited for.
 * @param user a parameter with its cast
 */
export const countFollowersSql = (user: string, by: string, rows: string): string =>
  `INSERT INTO follower_count_shards AS c (user_id, shard, followers)
   SELECT ${user}, coalesce(
     (SELECT shard FROM follower_count_shards WHERE user_id = ${user} LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED),
     (SELECT n FROM generate_series(0, ${SHARDS_MAX - 1}) n WHERE NOT EXISTS (
        SELECT FROM follower_count_shards WHERE user_id = ${user} AND shard = n) ORDER BY random() LIMIT 1),
     floor(random() * ${SHARDS_MAX})::int), ${by}
   FROM ${rows}
   ON CONFLICT (user_id, shard) DO UPDATE SET followers = c.followers + excluded.followers`;
