import type { Entry } from '../../src/domain/entry.js';
import type { FeedDeps } from '../../src/feed/feed.js';
import { compareWalk, type Faults } from '../../src/verify/compare-walk.js';
import { readOracle } from '../../src/verify/oracle.js';
import { walkFeed } from '../../src/verify/walk-feed.js';

export const FAULT_KINDS = ['missing', 'extra', 'misordered', 'duplicated'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** `duplicated`: shown before in the same walk, and not counted as misordered. */
export interface JudgedRead extends Faults {
  readonly entries: readonly Entry[];
  readonly duplicated: readonly Entry[];
  readonly startedAt: number;
  readonly tookMs: number;
}

/** Reads a feed as its owner would, between two oracles. By default down to the depth limit. */
export async function judgeRead(
  feed: FeedDeps,
  userId: bigint,
  pages: { pageSize: number; pagesMax?: number },
): Promise<JudgedRead> {
  const limit = Math.min(feed.maxDepth, pages.pageSize * (pages.pagesMax ?? Infinity)) + 1;
  const startedAt = Date.now();
  const before = await readOracle(feed, userId, { nowMs: startedAt, limit });
  const { entries, isWhole } = await walkFeed(feed, userId, pages);
  const after = await readOracle(feed, userId, { nowMs: Date.now(), limit });
  const tookMs = Date.now() - startedAt;
  const faults = compareWalk(entries, { before, after, isWhole });
  const seen = new Set<bigint>();
  const duplicated = entries.filter(({ contentId }) => seen.size === seen.add(contentId).size);
  const misordered = faults.misordered.filter(({ contentId }) => !duplicated.some((it) => it.contentId === contentId));
  return { ...faults, misordered, duplicated, entries, startedAt, tookMs };
}
