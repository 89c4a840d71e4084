import { ID_MAX } from './ids.js';

/** Publish times are epoch milliseconds that fit in 48 bits (until the year 10889). */
export const PUBLISH_TIME_MAX = 2 ** 48 - 1;

/** The place of one content in every feed. `publishTime` is in epoch milliseconds. */
export interface Entry {
  readonly publishTime: number;
  readonly contentId: bigint;
}

/** Below every entry: a floor here means that the inbox is complete all the way down. */
export const ENTRY_MIN: Entry = { publishTime: 0, contentId: 0n };

/** Above every entry: a floor here means that the inbox is known to be complete nowhere. */
export const ENTRY_TOP: Entry = { publishTime: PUBLISH_TIME_MAX + 1, contentId: ID_MAX };

/**
 * Entry order, everywhere: publishTime descending, then contentId descending as a number.
 * Negative when `a` stands before (is newer than) `b`.
 */
export function compareEntries(a: Entry, b: Entry): number {
  if (a.publishTime !== b.publishTime) return b.publishTime - a.publishTime;
  return a.contentId === b.contentId ? 0 : a.contentId > b.contentId ? -1 : 1;
}

export const isNewer = (a: Entry, b: Entry): boolean => compareEntries(a, b) < 0;
export const isOlder = (a: Entry, b: Entry): boolean => compareEntries(a, b) > 0;
export const oldestOf = (a: Entry, b: Entry): Entry => (isNewer(a, b) ? b : a);
export const newestOf = (a: Entry, b: Entry): Entry => (isNewer(b, a) ? b : a);

/** Which way a read walks from its position: `older` is the scroll, `newer` the filling of a gap. */
export type Direction = 'older' | 'newer';

/** The next `limit` entries strictly behind `from`; null starts at the newest. */
export interface Walk {
  readonly from: Entry | null;
  readonly direction: Direction;
  readonly limit: number;
}

/** True when `a` comes before `b` on a walk in that direction. */
export const comesBefore = (a: Entry, b: Entry, direction: Direction): boolean =>
  direction === 'older' ? isNewer(a, b) : isOlder(a, b);

/** The place right above an entry: a walk down from it begins with the entry itself. */
export const justNewerThan = ({ publishTime, contentId }: Entry): Entry =>
  contentId < ID_MAX ? { publishTime, contentId: contentId + 1n } : { publishTime: publishTime + 1, contentId: 0n };

/** The place right below an entry: a walk up from it begins with the entry itself. */
export const justOlderThan = ({ publishTime, contentId }: Entry): Entry =>
  contentId > 0n ? { publishTime, contentId: contentId - 1n } : { publishTime: publishTime - 1, contentId: ID_MAX };
