import type { FeedPlace, ViewerAndContent } from '../stores/live-audience.js';

/** A content of which somebody heard who waits for news. */
interface Heard<Watcher> {
  readonly watcher: Watcher;
  readonly contentId: bigint;
}

export interface Judge<Watcher> {
  hear(watcher: Watcher, contentId: bigint): void;
  /** Lets what runs end. */
  close(): Promise<void>;
}

/** Pairs in one statement: a few milliseconds of the authority's time. */
const BATCH_MAX = 2_000;
/** Pairs that wait, about 10 MB; who hears of more is counted anew. */
const WAITING_MAX = 100_000;

/**
 * Asks the authority whether contents stand in the feeds of those who heard of them. One statement at a time: what is heard
 * meanwhile goes into the next one, so that statements grow with the load instead of multiplying, and a later answer
 * never meets an earlier one.
 */
export function createJudge<Watcher extends { readonly userId: bigint }>(deps: {
  findPlaces: (pairs: readonly ViewerAndContent[]) => Promise<readonly (FeedPlace | null)[]>;
  onJudged: (watcher: Watcher, contentId: bigint, place: FeedPlace | null) => void;
  /** Too much to judge, or the authority did not answer. */
  onUnjudged: (watcher: Watcher) => void;
  onError: (error: unknown) => void;
}): Judge<Watcher> {
  const waiting: Heard<Watcher>[] = [];
  let running: Promise<void> | undefined;
  let isClosed = false;

  async function judgeAll(): Promise<void> {
    while (waiting.length > 0 && !isClosed) {
      const batch = waiting.splice(0, BATCH_MAX);
      try {
        const pairs = batch.map(({ watcher, contentId }) => ({ viewerId: watcher.userId, contentId }));
        const places = await deps.findPlaces(pairs);
        batch.forEach(({ watcher, contentId }, i) => deps.onJudged(watcher, contentId, places[i] ?? null));
      } catch (error) {
        deps.onError(error);
        for (const { watcher } of batch) deps.onUnjudged(watcher);
      }
    }
    running = undefined;
  }

  return {
    hear(watcher, contentId) {
      if (waiting.length >= WAITING_MAX) {
        deps.onUnjudged(watcher);
        return;
      }
      waiting.push({ watcher, contentId });
      running ??= judgeAll();
    },
    async close() {
      isClosed = true;
      await running;
    },
  };
}
