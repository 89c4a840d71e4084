import { ENTRY_MIN, isNewer, isOlder, oldestOf, type Entry, type Walk } from '../domain/entry.js';
import { effectiveFloors } from '../domain/inbox-head.js';
import type { Pool } from '../stores/database.js';
import type { InboxPage } from '../stores/inbox/inbox-store.js';
import { pullOutboxes, type OutboxRange } from '../stores/outboxes.js';

/** The outboxes of big accounts, projected into Redis with a floor of their own. */
export interface OutboxProjections {
  readMany(reads: readonly { readonly userId: bigint; readonly request: Walk }[]): Promise<readonly InboxPage[]>;
}

export interface PullDeps {
  readonly pool: Pool;
  readonly projections: OutboxProjections;
  /** A projection that is not there, or of an older epoch: writing it would spare the next readers the pull. */
  readonly onProjectionStale: (authorId: bigint) => void;
  /** Redis does not answer: everything comes from Postgres. */
  readonly onInboxError: (error: unknown) => void;
}

/** A range of an outbox; `isPulled`: of a big account, for which there may be a projection. */
export interface PullRange extends OutboxRange {
  readonly isPulled: boolean;
}

/**
 * The next entries of outboxes, as lists in walking order. Big accounts are read from their projections, all in one round
 * trip, and what lies below a projection's floor, like everybody else, from Postgres in one statement. On the way up all
 * come from Postgres: gaps are filled rarely, and a projection answers only from its newest end.
 */
export async function readOutboxes(
  deps: PullDeps,
  ranges: readonly PullRange[],
  walk: Walk,
  epoch: bigint,
): Promise<readonly (readonly Entry[])[]> {
  const projected = walk.direction === 'older' ? ranges.filter((range) => range.isPulled) : [];
  const pages = await readProjections(deps, projected, walk.limit);
  const rest = ranges.filter((range) => !projected.includes(range));
  projected.forEach((range, i) => {
    const page = pages[i] ?? NO_PAGE;
    const { head, entries } = page.validSince !== undefined && page.validSince > epoch ? NO_PAGE : page;
    const { allFloor: floor } = effectiveFloors(head, { epoch, followSeq: 0n, activeSeq: 0n, awakeSeq: 0n });
    if (head?.epoch !== epoch) deps.onProjectionStale(range.authorId);
    const last = entries.length === walk.limit ? entries.at(-1) : undefined;
    const reachesFloor = last === undefined || isOlder(last, floor);
    if (reachesFloor && isNewer(floor, ENTRY_MIN)) rest.push({ ...range, below: oldestOf(floor, range.below) });
  });
  return [...pages.map((page) => page.entries), await pullOutboxes(deps.pool, rest, walk)];
}

const NO_PAGE: InboxPage = { head: null, entries: [] };

async function readProjections(
  deps: PullDeps,
  ranges: readonly PullRange[],
  limit: number,
): Promise<readonly InboxPage[]> {
  if (ranges.length === 0) return [];
  try {
    return await deps.projections.readMany(
      ranges.map(({ authorId, below }) => ({ userId: authorId, request: { from: below, direction: 'older', limit } })),
    );
  } catch (error) {
    deps.onInboxError(error);
    return [];
  }
}
