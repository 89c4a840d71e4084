import type { Pool } from '../stores/database.js';
import { saveLease, takeLease } from '../stores/maintenance-lease.js';

/** A work in small steps that goes round and round. */
export interface MaintenanceWork {
  readonly name: string;
  /** One step from a position ('' at the start) to the next; null when it has come round. */
  step(position: string): Promise<string | null>;
}

/** Whoever has not saved a step for so long counts as dead; a step takes well under a second. */
const LEASE_MS = 60_000;

/**
 * Goes on with each work for at most its budget, where its last holder stopped. Of all processes one does a work at a time;
 * one that dies in it is followed when its lease has run out. Steps may be repeated, so nothing depends on the lease.
 */
export async function runMaintenance(deps: {
  readonly pool: Pool;
  /** Names this process. */
  readonly holder: string;
  readonly works: readonly MaintenanceWork[];
  /** MAINTENANCE_BUDGET_MS, for each work. */
  readonly budgetMs: number;
  readonly stop: AbortSignal;
}): Promise<void> {
  for (const work of deps.works) {
    const { name } = work;
    const lease = { name, holder: deps.holder, ttlMs: LEASE_MS };
    let position = await takeLease(deps.pool, lease);
    if (position === null) continue;
    const endAt = performance.now() + deps.budgetMs;
    let isEnd = false;
    // One step at least, so that a busy machine goes on too.
    for (let isFirst = true; !isEnd && !deps.stop.aborted && (isFirst || performance.now() < endAt); isFirst = false) {
      const next = await work.step(position);
      isEnd = next === null;
      position = next ?? '';
      if (!(await saveLease(deps.pool, { ...lease, position }))) break;
    }
    await saveLease(deps.pool, { ...lease, position, ttlMs: 0 });
  }
}
