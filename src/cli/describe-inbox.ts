import { ENTRY_MIN, ENTRY_TOP, compareEntries, type Entry } from '../domain/entry.js';
import type { InboxHead } from '../domain/inbox-head.js';

/** Down to where an inbox answers, and by which state of its reader. */
export const describeHead = (head: InboxHead): string[] => [
  `  allFloor     ${describeFloor(head.allFloor)}`,
  `  activeFloor  ${describeFloor(head.activeFloor)}`,
  `  epoch ${head.epoch}, follows up to ${head.followSeq}`,
];

/** One line an entry: time and content. */
export const describeEntry = ({ publishTime, contentId }: Entry): string =>
  `${describeTime(publishTime)}  ${contentId.toString()}`;

function describeFloor(floor: Entry): string {
  if (compareEntries(floor, ENTRY_MIN) === 0) return 'complete to the end';
  if (compareEntries(floor, ENTRY_TOP) === 0) return 'complete nowhere';
  return `complete down to ${describeTime(floor.publishTime)}, content ${floor.contentId.toString()}`;
}

/** Imported times may lie beyond what a Date can show. */
const describeTime = (ms: number): string => (ms <= DATE_MAX_MS ? new Date(ms).toISOString() : `${String(ms)} ms`);

const DATE_MAX_MS = 8.64e15;
