import { isNewer, type Entry } from '../domain/entry.js';

/** What a client is told. */
export interface NewerReport {
  readonly newerCount: number;
  readonly hasMore: boolean;
}

/** The posts newer than a place that one viewer could load, as many as are counted. */
export interface NewerPosts {
  has(contentId: bigint): boolean;
  /** Safe to repeat. */
  add(entry: Entry): void;
  /** False when there are others beyond what is counted: only counting anew can tell how many are left. */
  remove(contentId: bigint): boolean;
  report(): NewerReport;
}

/**
 * Ids instead of a number: a post that is heard of twice, or while it is being counted, counts once.
 * @param countMax counted up to this many
 * @param counted what a count found
 * @param isCutShort the count may have found more
 */
export function createNewerPosts(
  since: Entry,
  countMax: number,
  counted: readonly Entry[],
  isCutShort: boolean,
): NewerPosts {
  const ids = new Set<bigint>();
  let hasMore = isCutShort;

  function add(entry: Entry): void {
    if (!isNewer(entry, since) || ids.has(entry.contentId)) return;
    if (ids.size === countMax) hasMore = true;
    else ids.add(entry.contentId);
  }

  counted.forEach(add);
  return {
    has: (contentId) => ids.has(contentId),
    add,
    remove(contentId) {
      ids.delete(contentId);
      return !hasMore;
    },
    report: () => ({ newerCount: ids.size, hasMore }),
  };
}
