import { defineStatement, type Queryable } from './database.js';

export type CounterName = 'likes' | 'comments' | 'reposts' | 'favorites';

export const COUNTER_NAMES = ['likes', 'comments', 'reposts', 'favorites'] as const satisfies readonly CounterName[];

export type Counts = Readonly<Record<CounterName, number>>;

/** By how much the counters of one content move. */
export interface CountChange extends Partial<Counts> {
  readonly contentId: bigint;
}

/** Counts as of one instant. Of two readings of one content the one with the greater version is the later one. */
export interface VersionedCounts extends Counts {
  readonly version: bigint;
}

/** Of a content that was never counted. */
export const NO_COUNTS: VersionedCounts = { likes: 0, comments: 0, reposts: 0, favorites: 0, version: 0n };

/**
 * Moves the counters of contents together with the rows that they count, in those rows' transaction. It waits for nobody
 * but whoever counts for the very first time: a content whose row is locked is counted in a shard that is free, or in a
 * new one (fold-counters.ts brings them back), so that writers neither queue nor deadlock. The projection hears of it.
 * @param changes at most one a content
 */
export async function addToCounters(db: Queryable, changes: readonly CountChange[]): Promise<void> {
  if (changes.length === 0) return;
  const columns = COUNTER_NAMES.map((name) => changes.map((change) => change[name] ?? 0));
  await addChanges(db, [changes.map(({ contentId }) => contentId), ...columns]);
}

/** As addToCounters, for one counter of one content. */
export const addToCounter = async (db: Queryable, contentId: bigint, counter: CounterName, by: 1 | -1): Promise<void> =>
  addToCounters(db, [{ contentId, [counter]: by }]);

/** The exact counts of now; contents that were never counted are absent. */
export async function readCounts(
  db: Queryable,
  contentIds: readonly bigint[],
): Promise<ReadonlyMap<bigint, VersionedCounts>> {
  const rows = await selectCounts(db, [contentIds]);
  return new Map(
    rows.map(({ content_id: id, version, ...counts }) => [BigInt(id), { ...counts, version: BigInt(version) }]),
  );
}

/** How often the comments of a content changed, as of the statement: part of a query on `contentId`, a parameter. */
export const commentVersionSql = (contentId: string): string =>
  `coalesce((SELECT sum(comment_version) FROM (
     SELECT comment_version FROM content_counters WHERE content_id = ${contentId}
     UNION ALL SELECT comment_version FROM content_counter_shards WHERE content_id = ${contentId}) v), 0)`;

/** Never below 0, whatever is stored. */
export const countsSql = (contentIds: string): string =>
  `SELECT content_id, ${COUNTER_NAMES.map((name) => `greatest(0, ${name}) AS ${name}`).join(', ')}, version
   FROM (${storedCountsSql(contentIds)}) stored`;

/** Rows and shards as of one snapshot, which shows a fold wholly or not at all. */
export const storedCountsSql = (contentIds: string): string =>
  `SELECT content_id, ${COUNTER_NAMES.map((name) => `sum(${name})::int AS ${name}`).join(', ')}, sum(version) AS version
   FROM (
     SELECT content_id, likes, comments, reposts, favorites, version
     FROM content_counters WHERE content_id = ANY(${contentIds})
     UNION ALL
     SELECT content_id, likes, comments, reposts, favorites, version
     FROM content_counter_shards WHERE content_id = ANY(${contentIds})) c
   GROUP BY content_id`;

const selectCounts = defineStatement<Counts & { content_id: string; version: string }>(
  'counters_read',
  countsSql('$1::numeric[]'),
);

const moved = (table: string): string =>
  [
    ...COUNTER_NAMES.map((name) => `${name} = ${table}.${name} + d.${name}`),
    `version = ${table}.version + 1`,
    `comment_version = ${table}.comment_version + (d.comments <> 0)::int`,
  ].join(', ');

/**
 * `free`: contents whose row is not locked and stays above 0; `spare`: of the others, those with a shard that is not
 * locked. Both are locked before they are changed, in their newest version, so that no update is lost. The row of a
 * content that has none is made here; who makes the same one at once waits, and adds to it.
 */
const addChanges = defineStatement(
  'counters_add',
  `WITH delta AS (
     SELECT * FROM unnest($1::numeric[], $2::int[], $3::int[], $4::int[], $5::int[])
       AS d (content_id, ${COUNTER_NAMES.join(', ')})),
   told AS (INSERT INTO counter_changes (content_id) SELECT content_id FROM delta),
   free AS MATERIALIZED (
     SELECT c.content_id FROM content_counters c JOIN delta d ON d.content_id = c.content_id
     WHERE ${COUNTER_NAMES.map((name) => `c.${name} + d.${name} >= 0`).join(' AND ')}
     FOR NO KEY UPDATE OF c SKIP LOCKED),
   base AS (
     UPDATE content_counters c SET ${moved('c')}
     FROM delta d JOIN free f ON f.content_id = d.content_id WHERE c.content_id = d.content_id),
   spare AS MATERIALIZED (
     SELECT d.content_id, s.shard FROM delta d CROSS JOIN LATERAL (
       SELECT shard FROM content_counter_shards WHERE content_id = d.content_id
       LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) s
     WHERE NOT EXISTS (SELECT FROM free f WHERE f.content_id = d.content_id)),
   shared AS (
     UPDATE content_counter_shards s SET ${moved('s')}
     FROM delta d JOIN spare p ON p.content_id = d.content_id
     WHERE s.content_id = p.content_id AND s.shard = p.shard),
   rest AS MATERIALIZED (
     SELECT d.*, EXISTS (SELECT FROM content_counters c WHERE c.content_id = d.content_id) AS has_row
     FROM delta d
     WHERE NOT EXISTS (SELECT FROM free f WHERE f.content_id = d.content_id)
       AND NOT EXISTS (SELECT FROM spare p WHERE p.content_id = d.content_id)),
   made AS (
     INSERT INTO content_counters AS c (content_id, ${COUNTER_NAMES.join(', ')}, version, comment_version)
     SELECT content_id, ${COUNTER_NAMES.join(', ')}, 1, (comments <> 0)::int FROM rest
     WHERE NOT has_row AND least(${COUNTER_NAMES.join(', ')}) >= 0
     ORDER BY content_id
     ON CONFLICT (content_id) DO UPDATE SET ${moved('c').replaceAll('d.', 'excluded.')})
   INSERT INTO content_counter_shards (content_id, ${COUNTER_NAMES.join(', ')}, version, comment_version)
   SELECT content_id, ${COUNTER_NAMES.join(', ')}, 1, (comments <> 0)::int FROM rest
   WHERE has_row OR least(${COUNTER_NAMES.join(', ')}) < 0`,
);
