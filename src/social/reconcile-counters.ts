import { findChangedContents } from '../stores/counter-changes.js';
import {
  findCounterDifferences,
  listContentsDown,
  lockReconciling,
  type CounterDifference,
} from '../stores/counter-differences.js';
import type { CountProjection } from '../stores/count-projection.js';
import {
  addToCounters,
  COUNTER_NAMES,
  NO_COUNTS,
  readCounts,
  type CountChange,
  type CounterName,
  type VersionedCounts,
} from '../stores/counters.js';
import { inTransaction, type Pool } from '../stores/database.js';

export type { CounterDifference } from '../stores/counter-differences.js';

export interface ReconcileDeps {
  readonly pool: Pool;
  readonly projection: CountProjection;
}

export interface Reconciled {
  readonly contents: number;
  readonly differences: readonly CounterDifference[];
  /** Contents of which Redis showed other counts than their counters are; null when Redis could not be asked. */
  readonly projected: readonly bigint[] | null;
  /** Where the next part begins; null at the end. */
  readonly next: bigint | null;
}

/** Before the newest content. */
export const FROM_NEWEST = 2n ** 64n;

/**
 * Compares the counts of some contents, newest first, with the relations, and what the projection shows with the counts.
 * With `isRepairing` it sets right what differs: a counter moves by its difference, which is the same whatever is counted
 * meanwhile. Safe to repeat and to run anywhere.
 */
export async function reconcileCounters(
  deps: ReconcileDeps,
  part: { before: bigint; limit: number; isRepairing: boolean },
): Promise<Reconciled> {
  const contentIds = await listContentsDown(deps.pool, part.before, part.limit);
  const differences = await inTransaction(deps.pool, async (client) => {
    await lockReconciling(client);
    const found = await findCounterDifferences(client, contentIds);
    if (part.isRepairing) await addToCounters(client, changesOf(found));
    return found;
  });
  const projected = await findWrongProjections(deps, contentIds).catch(() => null);
  if (part.isRepairing && projected) await deps.projection.forget(projected);
  const next = contentIds.length < part.limit ? null : (contentIds.at(-1) ?? null);
  return { contents: contentIds.length, differences, projected, next };
}

function changesOf(differences: readonly CounterDifference[]): CountChange[] {
  const changes = new Map<bigint, { contentId: bigint } & Partial<Record<CounterName, number>>>();
  for (const { contentId, counter, stored, counted } of differences) {
    changes.set(contentId, { ...changes.get(contentId), contentId, [counter]: counted - stored });
  }
  return [...changes.values()];
}

/**
 * The order matters. Of a change that is in `counts` and does not wait any more the projection was told; so what it shows
 * after that is as new as `counts`, or wrong. What is newer may be of a change since: counted again, it is or is not.
 */
async function findWrongProjections(
  { pool, projection }: ReconcileDeps,
  contentIds: readonly bigint[],
): Promise<bigint[]> {
  const counts = await readCounts(pool, contentIds);
  const waiting = await findChangedContents(pool, contentIds);
  const shown = await projection.read(contentIds);
  const isNewer = contentIds.filter((id) => (shown.get(id)?.version ?? 0n) > versionOf(counts, id));
  const later = await readCounts(pool, isNewer);
  return contentIds.filter((id) => {
    const projected = shown.get(id);
    if (!projected || waiting.has(id)) return false;
    if (projected.version > versionOf(counts, id)) return projected.version > versionOf(later, id);
    const counted = counts.get(id) ?? NO_COUNTS;
    return projected.version < counted.version || COUNTER_NAMES.some((name) => projected[name] !== counted[name]);
  });
}

const versionOf = (counts: ReadonlyMap<bigint, VersionedCounts>, id: bigint): bigint => counts.get(id)?.version ?? 0n;
