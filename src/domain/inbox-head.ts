import { ENTRY_MIN, ENTRY_TOP, newestOf, type Entry } from './entry.js';

/**
 * What an inbox says of itself, kept with its entries and moved in the same atomic step.
 *
 * States of an inbox, and who moves it:
 * - absent: pushes pass it by (SPEC 3.5). A reader's rebuild begins it.
 * - begun: exists with both floors at the top: it takes pushes and is known to be complete nowhere.
 * - filled: a rebuild has merged the outboxes as they stood after it had begun, and lowered the floors.
 * - lapsed: the authority's seqs or epoch have moved on since; each mismatch voids just the floor that relied on it.
 */
export interface InboxHead {
  /** Policy epoch of the last fill. Another epoch than the authority's voids both floors. */
  readonly epoch: bigint;
  /** Follows of the reader with a greater seq are not covered: their outboxes are pulled. */
  readonly followSeq: bigint;
  /** Counts returns after ACTIVE_DAYS. A mismatch voids activeFloor. */
  readonly activeSeq: bigint;
  /** Counts returns after DORMANT_DAYS. A mismatch voids both floors. */
  readonly awakeSeq: bigint;
  /** Every delivered ALL_FOLLOWERS entry that is not older than this is here. */
  readonly allFloor: Entry;
  /** Every delivered ACTIVE_FOLLOWERS entry that is not older than this is here. */
  readonly activeFloor: Entry;
  /** The oldest entry kept by any trim since `nonce` was set; a fill cannot lower a floor below it. */
  readonly trimFloor: Entry;
  /** Names the rebuild that began last; only that one may fill. */
  readonly nonce: string;
}

/** What the authority says a reader's head must match. */
export interface ReaderSeqs {
  readonly epoch: bigint;
  readonly followSeq: bigint;
  readonly activeSeq: bigint;
  readonly awakeSeq: bigint;
}

/** Down to where an inbox answers for its owner, after comparing its head with the authority. */
export interface Floors {
  readonly allFloor: Entry;
  readonly activeFloor: Entry;
  /** Follows up to this seq are covered by the floors; later ones are not covered at all. */
  readonly followSeq: bigint;
}

const NOWHERE: Floors = { allFloor: ENTRY_TOP, activeFloor: ENTRY_TOP, followSeq: -1n };

/**
 * A missing inbox, or one of another epoch, is complete nowhere; nor is one that knows of later follows than the authority
 * (which was restored from a backup, or whose account was made anew).
 */
export function effectiveFloors(head: InboxHead | null, reader: ReaderSeqs): Floors {
  if (!head || head.epoch !== reader.epoch || head.awakeSeq !== reader.awakeSeq) return NOWHERE;
  if (head.followSeq > reader.followSeq) return NOWHERE;
  const activeFloor = head.activeSeq === reader.activeSeq ? newestOf(head.activeFloor, head.allFloor) : ENTRY_TOP;
  return { allFloor: head.allFloor, activeFloor, followSeq: head.followSeq };
}

/** True when a rebuild would let the inbox answer for more than it does now. */
export function needsRebuild(head: InboxHead | null, reader: ReaderSeqs): boolean {
  if (!head) return true;
  return (
    head.epoch !== reader.epoch ||
    head.awakeSeq !== reader.awakeSeq ||
    head.activeSeq !== reader.activeSeq ||
    head.followSeq !== reader.followSeq ||
    head.allFloor.publishTime > ENTRY_TOP.publishTime - 1
  );
}

/** One line of text, `v1 epoch followSeq activeSeq awakeSeq allFloor activeFloor trimFloor nonce`; floors as time:id with 20 digits. */
export function encodeHead(head: InboxHead): string {
  const floors = [head.allFloor, head.activeFloor, head.trimFloor].map(encodeFloor);
  return ['v1', head.epoch, head.followSeq, head.activeSeq, head.awakeSeq, ...floors, head.nonce].join(' ');
}

/** Null when the text is not a head of a known version: the inbox then counts as missing. */
export function decodeHead(text: string): InboxHead | null {
  const match = HEAD_PATTERN.exec(text);
  if (!match) return null;
  const field = (i: number): string => match[i] as string;
  const floor = (i: number): Entry => ({ publishTime: Number(field(i)), contentId: BigInt(field(i + 1)) });
  return {
    epoch: BigInt(field(1)),
    followSeq: BigInt(field(2)),
    activeSeq: BigInt(field(3)),
    awakeSeq: BigInt(field(4)),
    allFloor: floor(5),
    activeFloor: floor(7),
    trimFloor: floor(9),
    nonce: field(11),
  };
}

/** The head of an inbox that has just begun: complete nowhere. */
export const begunHead = (nonce: string): InboxHead => ({
  epoch: 0n,
  followSeq: 0n,
  activeSeq: 0n,
  awakeSeq: 0n,
  allFloor: ENTRY_TOP,
  activeFloor: ENTRY_TOP,
  trimFloor: ENTRY_MIN,
  nonce,
});

const HEAD_PATTERN = /^v1 (\d+) (\d+) (\d+) (\d+) (\d+):(\d+) (\d+):(\d+) (\d+):(\d+) ([0-9a-f]+)$/;
// Ids are padded so that a Lua script can compare them by halves, as numbers: string order follows the server's locale.
export const encodeFloor = (floor: Entry): string =>
  `${String(floor.publishTime)}:${floor.contentId.toString().padStart(20, '0')}`;
