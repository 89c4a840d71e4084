import { timeout, TimeoutStrategy, wrap } from 'cockatiel';
import type { CountProjection } from '../stores/count-projection.js';
import { NO_COUNTS, readCounts, type VersionedCounts } from '../stores/counters.js';
import type { Queryable } from '../stores/database.js';
import { createRedisBreaker } from './guards.js';
import type { Counters, CounterSource } from './sources.js';

export interface ProjectedCountersDeps {
  readonly db: Queryable;
  readonly projection: CountProjection;
  /** Answers what the projection does not hold: who likes what. */
  readonly source: Pick<CounterSource, 'findLiked'>;
  /** What Redis may take before Postgres is asked instead: a part of what the whole look-up may take. */
  readonly timeoutMs: number;
  readonly metrics?: { observeLookup(hits: number, misses: number): void } | undefined;
}

/**
 * Counts from their projection, in one round trip; what it does not hold, or all while Redis is away, is read from
 * Postgres and written to the projection behind the reader's back.
 */
export function createProjectedCounters(deps: ProjectedCountersDeps): CounterSource {
  const { db, projection, source, timeoutMs, metrics } = deps;
  const guard = wrap(createRedisBreaker(), timeout(timeoutMs, TimeoutStrategy.Aggressive));

  /** Null while Redis is away. */
  const readProjection = async (ids: readonly bigint[]): Promise<ReadonlyMap<bigint, VersionedCounts> | null> =>
    guard.execute(() => projection.read(ids)).catch(() => null);

  return {
    async findCounters(ids, signal) {
      signal.throwIfAborted();
      const projected = await readProjection(ids);
      const missing = ids.filter((id) => !projected?.has(id));
      metrics?.observeLookup(ids.length - missing.length, missing.length);
      const found = new Map<bigint, Counters>([...(projected ?? [])].map(([id, counts]) => [id, plain(counts)]));
      if (missing.length === 0) return found;
      const counted = await readCounts(db, missing);
      const read = new Map(missing.map((id) => [id, counted.get(id) ?? NO_COUNTS]));
      // Lost when it fails: the next reader does it.
      if (projected) guard.execute(() => projection.save(read)).catch(() => undefined);
      for (const [id, counts] of read) found.set(id, plain(counts));
      return found;
    },
    findLiked: (...args) => source.findLiked(...args),
  };
}

const plain = ({ likes, comments, reposts, favorites }: VersionedCounts): Counters => ({
  likes,
  comments,
  reposts,
  favorites,
});
