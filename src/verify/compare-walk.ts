import { compareEntries, isOlder, type Entry } from '../domain/entry.js';
import type { Oracle, OracleEntry } from './oracle.js';

export interface Faults {
  /** In both oracles, unchanged between them, and not shown. */
  readonly missing: readonly Entry[];
  /** Shown, published before the first oracle, and in neither. What came and went between them is not judged. */
  readonly extra: readonly Entry[];
  /** Shown at a place that is not below the entry before it; so is a duplicate. */
  readonly misordered: readonly Entry[];
}

/**
 * Judges a walk down from the newest entry by the oracle before it and the oracle after it, so that the feed may change
 * meanwhile. An oracle says nothing of what is older than its end.
 * @param isWhole the walk said that nothing follows
 */
export function compareWalk(
  walked: readonly Entry[],
  { before, after, isWhole }: { before: Oracle; after: Oracle; isWhole: boolean },
): Faults {
  const stands = new Map(before.entries.map((entry) => [entry.contentId, entry]));
  const known = new Map([...stands, ...after.entries.map((entry) => [entry.contentId, entry] as const)]);
  const shown = new Set(walked.map(({ contentId }) => contentId));
  // Judged by their true places, not by those that the feed has put into its cursors.
  const places = walked.map((entry) => known.get(entry.contentId) ?? entry);
  const last = places.at(-1);
  const isReached = (entry: Entry): boolean => isWhole || (last !== undefined && !isOlder(entry, last));
  const stood = ({ contentId, version }: OracleEntry): boolean => stands.get(contentId)?.version === version;
  return {
    missing: after.entries.filter((entry) => stood(entry) && isReached(entry) && !shown.has(entry.contentId)),
    extra: walked.filter(
      (entry) =>
        !known.has(entry.contentId) &&
        entry.publishTime <= before.nowMs &&
        isWithin(before, entry) &&
        isWithin(after, entry),
    ),
    misordered: places.filter((entry, i) => i > 0 && compareEntries(places[i - 1] as Entry, entry) >= 0),
  };
}

const isWithin = ({ end }: Oracle, entry: Entry): boolean => end === null || !isOlder(entry, end);
