import { LRUCache } from 'lru-cache';
import type { Clock } from '../domain/clock.js';
import type { ContentFacts } from '../domain/visibility.js';
import type { ReaderState } from '../stores/reader-state.js';

/** What this process last heard from the authority, for the time that the authority is away. */
export interface LastKnown {
  note(userId: bigint, reader: ReaderState, facts: ReadonlyMap<bigint, ContentFacts>): void;
  /** Null when the reader was not here lately. */
  readerOf(userId: bigint): ReaderState | null;
  readonly facts: { get(contentId: bigint): ContentFacts | undefined };
}

/** Follows remembered in all, about 100 bytes each, and contents, about 200 bytes each. */
const FOLLOWS_MAX = 200_000;
const CONTENTS_MAX = 50_000;

/**
 * @param ttlMs CONTENT_CACHE_TTL_MS: how old an answer may be. A process that alone lost its way to Postgres must not go
 *   on for long with follows and visibilities that others change meanwhile.
 */
export function createLastKnown(options: { ttlMs: number; clock: Clock }): LastKnown {
  const aging = { ttl: options.ttlMs, ttlResolution: 0, perf: { now: options.clock } };
  const readers = new LRUCache<bigint, ReaderState>({
    maxSize: FOLLOWS_MAX,
    sizeCalculation: (reader) => 1 + reader.followees.size,
    ...aging,
  });
  const facts = new LRUCache<bigint, ContentFacts>({ max: CONTENTS_MAX, ...aging });
  return {
    note(userId, reader, found) {
      readers.set(userId, reader);
      for (const [id, content] of found) facts.set(id, content);
    },
    readerOf: (userId) => readers.get(userId) ?? null,
    facts,
  };
}
