import type { Clock } from '../domain/clock.js';
import type { Direction, Entry } from '../domain/entry.js';
import { whyNotInFeed, type HiddenReason } from '../domain/visibility.js';
import type { ReaderState } from '../stores/reader-state.js';
import { loadContentFacts } from '../stores/visibility.js';
import { isActivityStale, markActive, type ActivityWindows } from '../stores/activity.js';
import type { LastKnown } from './last-known.js';
import { readCandidates, type CandidateDeps, type Candidates, type Walk } from './candidates.js';

export interface ScanDeps extends CandidateDeps {
  readonly clock: Clock;
  /** SCAN_BUDGET: pages of candidates that one request may read. */
  readonly scanBudget: number;
  readonly windows: ActivityWindows;
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
 * are replaced by further ones.
 */
export async function scanFeed(
  deps: ScanDeps,
  userId: bigint,
  walk: { from: Entry | null; direction: Direction; want: number },
): Promise<Scan> {
  const entries: Entry[] = [];
  let lastScanned: Entry | null = null;
  let followsNobody = false;
  for (let page = 0; page < deps.scanBudget; page += 1) {
    const from: Entry | null = lastScanned ?? walk.from;
    const batch = await readActively(deps, userId, { from, direction: walk.direction, limit: walk.want });
    const hidden = await keepVisible(deps, userId, batch, entries);
    deps.onBatch(userId, batch, hidden);
    followsNobody = batch.reader.followees.size === 0;
    lastScanned = batch.entries.at(-1) ?? lastScanned;
    if (entries.length >= walk.want) break;
    if (batch.isEnd) return { entries, lastScanned, isEnd: true, followsNobody };
  }
  return { entries, lastScanned, isEnd: false, followsNobody };
}

/**
 * Marks the reader as seen before relying on the inbox. The mark is old about once an hour; only then is the batch read
 * again, since a return after a long absence voids floors.
 */
async function readActively(deps: ScanDeps, userId: bigint, walk: Walk): Promise<Candidates> {
  const batch = await readCandidates(deps, userId, walk);
  const now = deps.clock();
  if (!isActivityStale(batch.reader.lastActiveAt, now)) return batch;
  await markActive(deps.pool, userId, now, deps.windows);
  return readCandidates(deps, userId, walk);
}

/** The viewer as the rules of visibility see them. */
export const viewerOf = (
  deps: Pick<ScanDeps, 'clock' | 'includeOwn'>,
  userId: bigint,
  { followees, blockedIds }: ReaderState,
) => ({ userId, followees, blockedIds, now: deps.clock(), includeOwn: deps.includeOwn });

/** Adds the visible ones to `entries` and returns the others with the reason of each. */
async function keepVisible(
  deps: ScanDeps,
  userId: bigint,
  batch: Candidates,
  entries: Entry[],
): Promise<HiddenEntry[]> {
  const facts = await loadContentFacts(
    deps.pool,
    batch.entries.map((entry) => entry.contentId),
  );
  deps.lastKnown.note(userId, batch.reader, facts);
  const viewer = viewerOf(deps, userId, batch.reader);
  const hidden: HiddenEntry[] = [];
  for (const entry of batch.entries) {
    const reason = whyNotInFeed(facts.get(entry.contentId), facts, viewer);
    if (reason) hidden.push({ entry, reason });
    else entries.push(entry);
  }
  return hidden;
}
