import { LRUCache } from 'lru-cache';
import type { Clock } from '../domain/clock.js';
import type { Beholder, ContentFacts } from '../domain/visibility.js';
import type { FactsForViewer } from '../stores/visibility.js';

/** What this process last heard from the authority, for the time that the authority is away. */
export interface LastKnown {
  note(userId: bigint, inboxStore: string, known: FactsForViewer): void;
  /** Null when the reader was not here lately. */
  readerOf(userId: bigint): KnownReader | null;
  readonly facts: { get(contentId: bigint): ContentFacts | undefined };
}

/** Authors of whom nothing was heard count as not followed, and as blocked. */
export interface KnownReader extends Pick<Beholder, 'followees' | 'blockedIds'> {
  readonly inboxStore: string;
}

interface Relation {
  readonly isFollowed: boolean;
  readonly isBlocked: boolean;
  readonly heardAt: number;
}

/** Relations remembered in all, about 100 bytes each, and contents, about 200 bytes each. */
const RELATIONS_MAX = 200_000;
const CONTENTS_MAX = 50_000;

/**
 * @param ttlMs CONTENT_CACHE_TTL_MS: how old an answer may be. A process that alone lost its way to Postgres must not go
 *   on for long with follows and visibilities that others change meanwhile.
 */
export function createLastKnown({ ttlMs, clock }: { ttlMs: number; clock: Clock }): LastKnown {
  const aging = { ttl: ttlMs, ttlResolution: 0, perf: { now: clock } };
  const readers = new LRUCache<bigint, { inboxStore: string; relations: Map<bigint, Relation> }>({
    maxSize: RELATIONS_MAX,
    sizeCalculation: ({ relations }) => 1 + relations.size,
    ...aging,
  });
  const facts = new LRUCache<bigint, ContentFacts>({ max: CONTENTS_MAX, ...aging });
  return {
    note(userId, inboxStore, known) {
      const relations = readers.get(userId)?.relations ?? new Map<bigint, Relation>();
      const heardAt = clock();
      for (const [id, content] of known.facts) {
        facts.set(id, content);
        const isFollowed = known.followees.has(content.authorId);
        relations.set(content.authorId, { isFollowed, isBlocked: known.blockedIds.has(content.authorId), heardAt });
      }
      readers.set(userId, { inboxStore, relations });
    },
    readerOf(userId) {
      const reader = readers.get(userId);
      if (!reader) return null;
      const relationTo = (authorId: bigint): Relation | undefined => {
        const relation = reader.relations.get(authorId);
        return relation && clock() - relation.heardAt < ttlMs ? relation : undefined;
      };
      return {
        inboxStore: reader.inboxStore,
        followees: { has: (authorId) => relationTo(authorId)?.isFollowed ?? false },
        blockedIds: { has: (authorId) => relationTo(authorId)?.isBlocked ?? true },
      };
    },
    facts,
  };
}
