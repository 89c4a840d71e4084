import { LRUCache } from 'lru-cache';
import type { Clock } from '../domain/clock.js';
import type { InvalidationKey } from '../stores/invalidations.js';
import type { ContentDetails, Found, UserCard } from './sources.js';

/** What one lookup found: the value, null where there is none, or the error of a lookup that failed. */
export type Outcome<V> = V | null | Error;

export interface CachedLookup<V> {
  /**
   * One outcome per id, in order. The ids that are neither held nor being looked up go into one call of `find`; when
   * it rejects, they fail, here and for everyone who waits for them, and nothing is remembered.
   */
  load(ids: readonly bigint[], find: FindDetails<V>): Promise<Outcome<V>[]>;
}

export type FindDetails<V> = (ids: readonly bigint[]) => Promise<Found<V>>;

export interface DetailCache {
  readonly contents: CachedLookup<ContentDetails>;
  readonly users: CachedLookup<UserCard>;
  invalidate(key: InvalidationKey): void;
  /** Drops everything, and keeps what is being looked up now from being stored. */
  clear(): void;
  readonly bytes: number;
}

export interface DetailCacheMetrics {
  observeLookup(kind: 'content' | 'user', hits: number, misses: number): void;
}

type Details = ContentDetails | UserCard;

/** A lookup in progress. It is stale once an invalidation arrived after it began: its result may predate the change. */
interface Flight {
  readonly outcome: Promise<Outcome<Details>>;
  isStale: boolean;
}

/**
 * Process-local details of contents and author cards. What many read, big accounts' above all, is what stays.
 *
 * States of a key:
 * - absent: the next reader looks it up.
 * - in flight: one lookup runs; readers who come meanwhile wait for it. An invalidation detaches it: those who already
 *   wait get what it finds, the next reader looks it up anew, and the detached result is not stored.
 * - held: until the TTL ends, an invalidation arrives or newer details need its bytes.
 *
 * @param maxBytes CONTENT_CACHE_BYTES; 0 holds nothing and still joins concurrent lookups.
 * @param ttlMs CONTENT_CACHE_TTL_MS: bounds what a lost invalidation can cost.
 */
export function createDetailCache(options: {
  maxBytes: number;
  ttlMs: number;
  clock: Clock;
  metrics?: DetailCacheMetrics | undefined;
}): DetailCache {
  const held = new LRUCache<InvalidationKey, Details>({
    // What is greater than the whole is not stored.
    maxSize: Math.max(1, options.maxBytes),
    sizeCalculation: countBytes,
    ttl: options.ttlMs,
    ttlResolution: 0,
    perf: { now: options.clock },
  });
  const flights = new Map<InvalidationKey, Flight>();

  function detach(key: InvalidationKey): void {
    const flight = flights.get(key);
    if (flight) flight.isStale = true;
    flights.delete(key);
  }

  function startFlight<V extends Details>(key: InvalidationKey, found: Promise<Outcome<V>>): Flight {
    const flight: Flight = { isStale: false, outcome: found.then(land) };
    flights.set(key, flight);
    return flight;

    function land(outcome: Outcome<V>): Outcome<Details> {
      if (flights.get(key) === flight) flights.delete(key);
      if (outcome === null || outcome instanceof Error) return outcome;
      if (!flight.isStale) held.set(key, outcome);
      return outcome;
    }
  }

  const createLookup = <V extends Details>(kind: 'content' | 'user'): CachedLookup<V> => ({
    async load(ids, find) {
      const keyOf = (id: bigint): InvalidationKey => `${kind}:${id}`;
      const known = new Map<bigint, Promise<Outcome<Details>>>();
      const missing: bigint[] = [];
      for (const id of ids) {
        const details = held.get(keyOf(id));
        const outcome = details ? Promise.resolve(details) : flights.get(keyOf(id))?.outcome;
        if (outcome) known.set(id, outcome);
        else missing.push(id);
      }
      options.metrics?.observeLookup(kind, ids.length - missing.length, missing.length);
      if (missing.length > 0) {
        const batch = find(missing).catch(toError);
        const pick = async (id: bigint) => {
          const found = await batch;
          return found instanceof Error ? found : (found.get(id) ?? null);
        };
        for (const id of missing) known.set(id, startFlight(keyOf(id), pick(id)).outcome);
      }
      return Promise.all(ids.map((id) => known.get(id) as Promise<Outcome<V>>));
    },
  });

  return {
    contents: createLookup('content'),
    users: createLookup('user'),
    invalidate(key) {
      detach(key);
      held.delete(key);
    },
    clear() {
      for (const key of flights.keys()) detach(key);
      held.clear();
    },
    get bytes() {
      return held.calculatedSize;
    },
  };
}

/** Key, list node, object, bigints and numbers of one entry. */
const OVERHEAD_BYTES = 500;

/** An upper bound: V8 keeps a character in one byte or in two, and media objects in less than twice their JSON. */
function countBytes(details: Details): number {
  const texts =
    'text' in details
      ? details.text.length + JSON.stringify(details.media).length
      : details.handle.length + details.displayName.length + (details.avatarUrl?.length ?? 0);
  return OVERHEAD_BYTES + 2 * texts;
}

const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
