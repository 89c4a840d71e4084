import type { Direction } from './entry.js';
import { badInput } from './errors.js';

export const PAGE_SIZE_DEFAULT = 20;
export const PAGE_SIZE_MAX = 100;

export interface ConnectionArgs {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

export interface PageRequest {
  readonly size: number;
  readonly direction: Direction;
  /** The cursor to start behind; null is the newest end. */
  readonly cursor: string | null;
}

/**
 * Reads Relay's connection arguments: `first` (default 20, at most 100) with `after`, or `last` with `before`.
 * `before` alone takes the default size. `last` alone would be the oldest end of the feed, which the depth limit hides.
 * @throws TidelineError BAD_USER_INPUT naming the argument.
 */
export function readPageRequest(args: ConnectionArgs): PageRequest {
  const { first, after, last, before } = args;
  if (isGiven(first) && isGiven(last)) throw badInput('Pass either first or last, not both.');
  if (isGiven(before) && isGiven(first)) throw badInput('before goes with last, not with first.');
  if (isGiven(after) && isGiven(last)) throw badInput('after goes with first, not with last.');
  if (isGiven(after) && isGiven(before)) throw badInput('Pass either after or before, not both.');
  if (isGiven(last) && last !== 0 && !isGiven(before)) throw badInput('last needs before: the cursor to stand above.');
  if (isGiven(last) || isGiven(before)) {
    return { size: readSize(last, 'last'), direction: 'newer', cursor: before ?? null };
  }
  return { size: readSize(first, 'first'), direction: 'older', cursor: after ?? null };
}

/** @throws TidelineError BAD_USER_INPUT when the size is not in 0 to 100. */
export function readSize(size: number | null | undefined, name: string): number {
  if (!isGiven(size)) return PAGE_SIZE_DEFAULT;
  if (size < 0 || size > PAGE_SIZE_MAX) throw badInput(`${name} must be from 0 to ${String(PAGE_SIZE_MAX)}.`);
  return size;
}

const isGiven = <T>(value: T | null | undefined): value is T => value !== null && value !== undefined;
