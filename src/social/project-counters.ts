import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../domain/errors.js';
import { deleteCounterChanges, lockCounterChanges } from '../stores/counter-changes.js';
import type { CountProjection } from '../stores/count-projection.js';
import { NO_COUNTS, readCounts, type VersionedCounts } from '../stores/counters.js';
import { inTransaction, type Pool } from '../stores/database.js';

export interface ProjectDeps {
  readonly pool: Pool;
  readonly projection: Pick<CountProjection, 'save'>;
}

/** Changes of one round. */
const CHANGES_MAX = 1_000;

/**
 * Brings the projection up to date with the oldest changes, and forgets them once it is. Safe to repeat and to run
 * anywhere: it writes the counts of now with their version, not by how much they moved. Returns how many changes it took.
 */
export async function projectCounters({ pool, projection }: ProjectDeps): Promise<number> {
  return inTransaction(pool, async (client) => {
    const changes = await lockCounterChanges(client, CHANGES_MAX);
    if (changes.length === 0) return 0;
    const contentIds = [...new Set(changes.map(({ contentId }) => contentId))];
    await projection.save(await readAllCounts(client, contentIds));
    await deleteCounterChanges(client, changes);
    return changes.length;
  });
}

/** Rounds in a row, until nothing is left or others add as fast; the next call goes on. */
export async function projectAllCounters(deps: ProjectDeps): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    if ((await projectCounters(deps)) < CHANGES_MAX) return;
  }
}

const ROUNDS_MAX = 1_000;

/** Also of what was never counted, or is gone: those are zeros. */
async function readAllCounts(
  db: Parameters<typeof readCounts>[0],
  contentIds: readonly bigint[],
): Promise<ReadonlyMap<bigint, VersionedCounts>> {
  const counts = await readCounts(db, contentIds);
  return new Map(contentIds.map((id) => [id, counts.get(id) ?? NO_COUNTS]));
}

export interface CounterProjector {
  /** Projects soon what was committed before this call. */
  readonly poke: () => void;
  readonly close: () => Promise<void>;
}

/** Between two rounds: what is liked all the time is projected so often, not at each like. */
const PAUSE_MS = 50;

/**
 * Projects in this process what this process changed, without waiting for the maintenance worker.
 *
 * States: idle -> (poke) round -> pause -> idle, or the next round when it was poked meanwhile or the last one was full.
 * A failed round ends in idle: the changes stay, and the next poke or the maintenance worker takes them.
 */
export function startCounterProjector(
  deps: ProjectDeps & { readonly log: { warn(details: object, message: string): void } },
): CounterProjector {
  let isPoked = false;
  let running: Promise<void> | null = null;
  const stop = new AbortController();

  async function work(): Promise<void> {
    while (isPoked && !stop.signal.aborted) {
      isPoked = false;
      try {
        if ((await projectCounters(deps)) === CHANGES_MAX) isPoked = true;
      } catch (error) {
        deps.log.warn({ error: messageOf(error) }, 'counts could not be projected, they will be later');
      }
      await pause(PAUSE_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
    running = null;
  }

  return {
    poke() {
      isPoked = true;
      running ??= work();
    },
    async close() {
      stop.abort();
      await running;
    },
  };
}
