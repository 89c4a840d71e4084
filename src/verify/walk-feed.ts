import { decodeCursor } from '../domain/cursor.js';
import type { Entry } from '../domain/entry.js';
import { readFeed, type FeedDeps } from '../feed/feed.js';

export interface WalkedFeed {
  readonly entries: readonly Entry[];
  /** The feed said that nothing follows. */
  readonly isWhole: boolean;
}

/** A page may hold nothing but filtered entries; so many of them in a row are a walk that does not end. */
const PAGES_MAX = 10_000;

/**
 * Reads the newest `pagesMax` pages as a client does, each behind the cursor of the one before; by default down to the
 * end of the feed or the depth limit.
 * @throws Error when a page says that it is not complete: there is nothing to judge then.
 */
export async function walkFeed(
  feed: FeedDeps,
  userId: bigint,
  { pageSize, pagesMax = PAGES_MAX }: { pageSize: number; pagesMax?: number },
): Promise<WalkedFeed> {
  const entries: Entry[] = [];
  let after: string | null = null;
  for (let page = 0; page < pagesMax; page += 1) {
    const { edges, endCursor, ...found } = await readFeed(feed, userId, { first: pageSize, after });
    if (!found.isComplete) throw new Error('the feed is not complete: a store is away');
    for (const { cursor } of edges) {
      const { publishTime, contentId } = decodeCursor(cursor, userId, feed.cursorKeys);
      entries.push({ publishTime, contentId });
    }
    if (!(await found.hasNextPage())) return { entries, isWhole: entries.length < feed.maxDepth };
    if (endCursor === null || endCursor === after) throw new Error('a page says that more follows, and not where');
    after = endCursor;
  }
  if (pagesMax === PAGES_MAX) throw new Error(`the feed does not end within ${PAGES_MAX} pages`);
  return { entries, isWhole: false };
}
