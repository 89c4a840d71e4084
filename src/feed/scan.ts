import { isNewer, isOlder, oldestOf, type Direction, type Entry, type Walk } from '../domain/entry.js';
import { whyNotInFeed, type Beholder, type HiddenReason } from '../domain/visibility.js';
import { loadFactsForViewer } from '../stores/visibility.js';
import { isActivityStale, markActive } from '../stores/activity.js';
import type { LastKnown } from './last-known.js';
import { readCandidates, type CandidateDeps, type Candidates } from './candidates.js';

export interface ScanDeps extends CandidateDeps {
  /** SCAN_BUDGET: pages of candidates that one request may read. */
  readonly scanBudget: number;
  readonly lastKnown: LastKnown;
  readonly onBatch: (userId: bigint, batch: Candidates, hidden: readonly HiddenEntry[]) => void;
}

export interface HiddenEntry {
  readonly entry: Entry;
  readonly reason: HiddenReason;
}

export interface Scan {
  /** Visible entries in walking order; more than `want` when the last batch had more. */
  readonly entries: readonly Entry[];
  /** The last entry that was looked at; a walk that goes on starts behind it. Null when there was none. */
  readonly lastScanned: Entry | null;
  /** True when the walk ended because nothing follows, false when it had enough or its budget ran out. */
  readonly isEnd: boolean;
  readonly followsNobody: boolean;
}

/**
 * Walks until `want` visible entries are found, the feed ends or the budget runs out. Entries that the viewer may not see
 * are replaced by further ones. A walk keeps below the present: what is dated in the future has no place in it yet.
 * @param walk.batch candidates read at once, `want` by default
 */
export async function scanFeed(
  deps: ScanDeps,
  userId: bigint,
  walk: { from: Entry | null; direction: Direction; want: number; batch?: number },
): Promise<Scan> {
  const { direction, want, batch: limit = want } = walk;
  const present: Entry = { publishTime: deps.clock() + 1, contentId: 0n };
  const entries: Entry[] = [];
  let from = direction === 'older' ? oldestOf(walk.from ?? present, present) : walk.from;
  let lastScanned: Entry | null = null;
  let followsNobody = false;
  for (let page = 0; page < deps.scanBudget; page += 1) {
    const batch = upTo(present, await readActively(deps, userId, { from, direction, limit }));
    const hidden = await keepVisible(deps, userId, batch, entries);
    deps.onBatch(userId, batch, hidden);
    followsNobody = batch.reader.followsNobody;
    lastScanned = batch.entries.at(-1) ?? lastScanned;
    if (entries.length >= want) break;
    if (batch.isEnd) return { entries, lastScanned, isEnd: true, followsNobody };
    from = lastScanned;
  }
  return { entries, lastScanned, isEnd: false, followsNobody };
}

/** A batch without what is not due yet; on the way up the present is the end of the feed. */
function upTo(present: Entry, batch: Candidates): Candidates {
  if (!batch.entries.some((entry) => isNewer(entry, present))) return batch;
  return { ...batch, entries: batch.entries.filter((entry) => isOlder(entry, present)), isEnd: true };
}

/**
 * Marks the reader as seen before relying on the inbox. The mark is old about once an hour; only then is the batch read
 * again, since a return after a long absence voids floors.
 */
async function readActively(deps: ScanDeps, userId: bigint, walk: Walk): Promise<Candidates> {
  const batch = await readCandidates(deps, userId, walk);
  const now = deps.clock();
  if (deps.isObserver || !isActivityStale(batch.reader.lastActiveAt, now)) return batch;
  await markActive(deps.pool, userId, now, batch.reader);
  return readCandidates(deps, userId, walk);
}

/** The viewer as the rules of visibility see them. */
export const viewerOf = (
  deps: Pick<ScanDeps, 'clock' | 'includeOwn'>,
  userId: bigint,
  { followees, blockedIds }: Pick<Beholder, 'followees' | 'blockedIds'>,
) => ({ userId, followees, blockedIds, now: deps.clock(), includeOwn: deps.includeOwn });

/** Adds the visible ones to `entries` and returns the others with the reason of each. */
async function keepVisible(
  deps: ScanDeps,
  userId: bigint,
  batch: Candidates,
  entries: Entry[],
): Promise<HiddenEntry[]> {
  const ids = batch.entries.map((entry) => entry.contentId);
  const known = await loadFactsForViewer(deps.pool, userId, ids);
  deps.lastKnown.note(userId, batch.reader.inboxStore, known);
  const viewer = viewerOf(deps, userId, known);
  const hidden: HiddenEntry[] = [];
  for (const entry of batch.entries) {
    const reason = whyNotInFeed(entry, known.facts, viewer);
    if (reason) hidden.push({ entry, reason });
    else entries.push(entry);
  }
  return hidden;
}
