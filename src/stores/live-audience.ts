import { defineStatement, type Queryable } from './database.js';
import { visibleSql } from './visible-sql.js';

/** Whom the viewer follows, all of them. */
export async function listFollowees(db: Queryable, viewerId: bigint): Promise<bigint[]> {
  return (await selectFollowees(db, [viewerId])).map((row) => BigInt(row.id));
}

export interface ViewerAndContent {
  readonly viewerId: bigint;
  readonly contentId: bigint;
}

/** How a content stands to a viewer's feed. */
export interface FeedPlace {
  /** Epoch milliseconds. */
  readonly publishTime: number;
  /** The feed shows it now. */
  readonly isShown: boolean;
}

/**
 * Whether contents stand in feeds, by the rules that pages follow (domain/visibility.ts), for any pairs in one round
 * trip: a post of somebody whom all connected viewers follow costs one statement, not a page for each of them.
 * @param options.includeOwn FEED_INCLUDE_OWN
 * @returns in the order of the pairs; null for a content that never was
 */
export async function findFeedPlaces(
  db: Queryable,
  pairs: readonly ViewerAndContent[],
  { includeOwn, nowMs }: { includeOwn: boolean; nowMs: number },
): Promise<(FeedPlace | null)[]> {
  const ids = [pairs.map((it) => it.viewerId), pairs.map((it) => it.contentId)];
  const rows = await selectPlaces(db, [...ids, includeOwn, nowMs]);
  const places = new Array<FeedPlace | null>(pairs.length).fill(null);
  for (const row of rows) {
    places[Number(row.n) - 1] = { publishTime: Number(row.publish_time), isShown: row.is_shown };
  }
  return places;
}

const selectFollowees = defineStatement<{ id: string }>(
  'live_followees',
  'SELECT followee_id AS id FROM follows WHERE follower_id = $1',
);

const selectPlaces = defineStatement<{ n: string; publish_time: string; is_shown: boolean }>(
  'live_places',
  `SELECT p.n, c.publish_time,
     CASE WHEN c.author_id = p.viewer_id THEN $3::boolean AND c.publish_time <= $4::bigint
       ELSE EXISTS (SELECT FROM follows WHERE follower_id = p.viewer_id AND followee_id = c.author_id) END
     AND ${visibleSql('c', 'p.viewer_id', '$4::bigint')} AS is_shown
   FROM unnest($1::numeric[], $2::numeric[]) WITH ORDINALITY AS p (viewer_id, content_id, n)
   CROSS JOIN LATERAL (SELECT * FROM contents WHERE id = p.content_id LIMIT 1) c`,
);
