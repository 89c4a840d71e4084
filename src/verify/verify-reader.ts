import type { FeedDeps } from '../feed/feed.js';
import { compareWalk, type Faults } from './compare-walk.js';
import { readOracle } from './oracle.js';
import { walkFeed } from './walk-feed.js';

export interface Verdict extends Faults {
  readonly userId: bigint;
  /** Entries that the feed showed. */
  readonly shown: number;
}

export const isFaulty = ({ missing, extra, misordered }: Faults): boolean =>
  missing.length + extra.length + misordered.length > 0;

/**
 * Reads a feed as its owner would, down to the depth limit or `pagesMax` pages, and compares it with the oracle.
 * Publishing may go on meanwhile.
 * @throws Error when the feed cannot be read completely
 */
export async function verifyReader(
  feed: FeedDeps,
  userId: bigint,
  pages: { pageSize: number; pagesMax?: number },
): Promise<Verdict> {
  const limit = Math.min(feed.maxDepth, pages.pageSize * (pages.pagesMax ?? Infinity)) + 1;
  const before = await readOracle(feed, userId, { nowMs: feed.clock(), limit });
  const walk = await walkFeed(feed, userId, pages);
  const after = await readOracle(feed, userId, { nowMs: feed.clock(), limit });
  return { userId, shown: walk.entries.length, ...compareWalk(walk.entries, { before, after, isWhole: walk.isWhole }) };
}

/** Verifies readers, a few at a time, and tells of each as it is done. */
export async function verifyReaders(
  feed: FeedDeps,
  userIds: readonly bigint[],
  { pageSize, onVerdict }: { pageSize: number; onVerdict: (verdict: Verdict) => void },
): Promise<void> {
  const waiting = userIds.values();
  const work = async (): Promise<void> => {
    for (const userId of waiting) onVerdict(await verifyReader(feed, userId, { pageSize }));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

/** Well under the least pool of connections. */
const CONCURRENCY = 4;
