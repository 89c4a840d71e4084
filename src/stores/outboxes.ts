import { type Direction, type Entry } from '../domain/entry.js';
import { defineStatement, type Queryable } from './database.js';

/** One author's outbox, from `below` (exclusive) downwards. */
export interface OutboxRange {
  readonly authorId: bigint;
  readonly below: Entry;
}

/**
 * The first `limit` entries over any number of outboxes, in one round trip: LATERAL takes the top of each by index, and
 * the top of all is taken in SQL (6.1 ms for 500 outboxes; fetching every row to Node took 36 ms). Private contents are
 * among them, since a visibility can change; deleted ones are not, since a deletion cannot.
 */
export async function pullOutboxes(
  db: Queryable,
  ranges: readonly OutboxRange[],
  walk: { from: Entry | null; direction: Direction; limit: number },
): Promise<Entry[]> {
  if (ranges.length === 0 || walk.limit === 0) return [];
  const args: unknown[] = [
    ranges.map((range) => String(range.authorId)),
    ranges.map((range) => range.below.publishTime),
    ranges.map((range) => String(range.below.contentId)),
    walk.limit,
  ];
  if (walk.direction === 'newer') args.push(walk.from?.publishTime ?? -1, String(walk.from?.contentId ?? 0n));
  const rows = await (walk.direction === 'older' ? pullOlder : pullNewer)(db, args);
  return rows.map((row) => ({ publishTime: Number(row.publish_time), contentId: BigInt(row.id) }));
}

// The next `limit` of all are by the `limit` authors whose first comes first: each of the others is asked for one row. Asking
// each of 500 outboxes for 20 rows cost 8.0 ms of Postgres, this 4.8 ms.
const pullStatement = (name: string, condition: string, order: 'ASC' | 'DESC') => {
  const nextOf = (outbox: string, limit: string): string => `
     CROSS JOIN LATERAL (
       SELECT c.publish_time, c.id FROM contents c
       WHERE c.author_id = ${outbox}.author_id AND c.deleted_at IS NULL
         AND (c.publish_time, c.id) < (${outbox}.publish_time, ${outbox}.content_id) ${condition}
       ORDER BY c.publish_time ${order}, c.id ${order} LIMIT ${limit})`;
  return defineStatement<{ publish_time: string; id: string }>(
    name,
    `SELECT o.publish_time, o.id
     FROM (
       SELECT r.* FROM unnest($1::numeric[], $2::bigint[], $3::numeric[]) AS r(author_id, publish_time, content_id)
       ${nextOf('r', '1')} first ORDER BY first.publish_time ${order}, first.id ${order} LIMIT $4) a
     ${nextOf('a', '$4')} o
     ORDER BY o.publish_time ${order}, o.id ${order} LIMIT $4`,
  );
};

const pullOlder = pullStatement('outboxes_pull_older', '', 'DESC');
const pullNewer = pullStatement('outboxes_pull_newer', 'AND (c.publish_time, c.id) > ($5::bigint, $6::numeric)', 'ASC');
