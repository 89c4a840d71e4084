import { decodeCursor } from '../domain/cursor.js';
import { ENTRY_MIN, isNewer, type Entry } from '../domain/entry.js';
import { messageOf, TidelineError } from '../domain/errors.js';
import { PAGE_SIZE_MAX } from '../domain/page-request.js';
import type { FeedDeps } from '../feed/feed.js';
import { scanFeed } from '../feed/scan.js';
import type { Logger } from '../log.js';
import { findFeedPlaces, listFollowees, type FeedPlace } from '../stores/live-audience.js';
import type { LiveSignal } from '../stores/live-signals.js';
import { createAudience } from './audience.js';
import { createJudge } from './judge.js';
import { createNewerPosts, type NewerPosts, type NewerReport } from './newer-posts.js';
import { createRecounts } from './recounts.js';
import { createUpdates, type Updates } from './updates.js';

export interface LiveDeps {
  readonly feed: FeedDeps;
  /** Hears the signals of all processes. `onSubscribed`: what was said before was not heard. Returns how to stop. */
  readonly subscribe: (listener: { onSignal(signal: LiveSignal): void; onSubscribed(): void }) => () => void;
  /** LIVE_INTERVAL_MS: between two updates of one subscription at least. */
  readonly intervalMs: number;
  /** LIVE_PER_VIEWER: subscriptions of one viewer in this process. */
  readonly perViewerMax: number;
  readonly log: Pick<Logger, 'warn'>;
  readonly metrics: { subscriptions: { set(count: number): void }; updates: { inc(): void } };
}

export interface TimelineWatch {
  /**
   * How many posts newer than the cursor the viewer could load: now, and whenever that changes.
   * @param since null: newer than the newest one of this moment
   * @throws TidelineError INVALID_CURSOR; RATE_LIMITED when the viewer has too many open.
   */
  watch(userId: bigint, since: string | null | undefined): AsyncIterableIterator<NewerReport>;
  close(): Promise<void>;
}

/**
 * One open subscription.
 * - `stale`: from the start, and whenever only a count can tell. What is heard of is left to the count that will follow.
 * - `counting`: the real read path counts. What is heard of meanwhile is kept in `held`, as the count may have begun before.
 * - `counted`: `newer` is right but for what is being judged; each content that is heard of is judged by itself.
 * - `closed`: by its reader or with the process; work that was under way for it comes to nothing.
 */
interface Watcher {
  readonly userId: bigint;
  /** Null until the first count of somebody who gave no cursor. */
  since: Entry | null;
  newer: NewerPosts | null;
  state: 'stale' | 'counting' | 'counted' | 'closed';
  readonly held: Set<bigint>;
  readonly updates: Updates<NewerReport>;
}

/** Counts at once in one process; each takes up to three statements, and readers want connections too. */
const COUNTS_AT_ONCE = 4;
/** Contents kept while counting; who hears of more is counted once again. */
const HELD_MAX = 1_000;
/** How far ahead of this clock a publisher's may be for its posts to be told in time. */
const CLOCK_SKEW_MAX_MS = 60_000;

/** What open timelines are told, in one process. */
export function createTimelineWatch(deps: LiveDeps): TimelineWatch {
  const { feed, log } = deps;
  // A subscription left open is no visit: it neither marks its viewer as active nor rebuilds inboxes.
  const observed: FeedDeps = { ...feed, isObserver: true };
  const audience = createAudience<Watcher>();
  const onError = (error: unknown): void => {
    log.warn({ error: messageOf(error) }, 'open timelines are counted later');
  };
  const recounts = createRecounts<Watcher>({ count, concurrency: COUNTS_AT_ONCE, onError });
  const judge = createJudge<Watcher>({
    findPlaces: (pairs) => findFeedPlaces(feed.pool, pairs, { includeOwn: feed.includeOwn, nowMs: feed.clock() }),
    onJudged,
    onUnjudged: countAnew,
    onError,
  });
  const unsubscribe = deps.subscribe({
    onSignal,
    onSubscribed: () => {
      for (const watcher of audience.all()) countAnew(watcher);
    },
  });

  function onSignal(signal: LiveSignal): void {
    if (signal.kind === 'relations') {
      for (const watcher of audience.ofViewer(signal.userId)) countAnew(watcher);
      return;
    }
    for (const watcher of audience.ofAuthor(signal.authorId)) {
      // Publications are told twice, by who commits and by the relay.
      const isKnown = signal.kind === 'published' && watcher.newer?.has(signal.contentId);
      if (!isKnown) hear(watcher, signal.contentId);
    }
  }

  function hear(watcher: Watcher, contentId: bigint): void {
    if (watcher.state === 'counted') judge.hear(watcher, contentId);
    if (watcher.state !== 'counting') return;
    if (watcher.held.size < HELD_MAX) watcher.held.add(contentId);
    else countAnew(watcher);
  }

  function onJudged(watcher: Watcher, contentId: bigint, place: FeedPlace | null): void {
    // A count that began since knows better.
    if (watcher.state !== 'counted' || !watcher.newer) {
      hear(watcher, contentId);
      return;
    }
    const waitMs = place ? place.publishTime - feed.clock() : 0;
    if (waitMs > 0 && waitMs <= CLOCK_SKEW_MAX_MS) setTimeout(() => hear(watcher, contentId), waitMs).unref();
    if (place?.isShown) watcher.newer.add({ publishTime: place.publishTime, contentId });
    else if (!watcher.newer.remove(contentId) && isAbove(place, contentId, watcher)) countAnew(watcher);
    watcher.updates.put(watcher.newer.report());
  }

  function countAnew(watcher: Watcher): void {
    if (watcher.state === 'closed') return;
    watcher.state = 'stale';
    recounts.ask(watcher);
  }

  /** Ends in `counted`, or in `stale` when something happened meanwhile that only another count can tell. */
  async function count(watcher: Watcher): Promise<void> {
    if (watcher.state === 'closed') return;
    watcher.state = 'counting';
    watcher.held.clear();
    try {
      watcher.newer = await countThroughFeed(watcher);
    } catch (error) {
      leave(watcher, 'counting', 'stale');
      throw error;
    }
    watcher.updates.put(watcher.newer.report());
    if (!leave(watcher, 'counting', 'counted')) return;
    for (const contentId of watcher.held) hear(watcher, contentId);
    watcher.held.clear();
  }

  async function countThroughFeed(watcher: Watcher): Promise<NewerPosts> {
    const { userId } = watcher;
    const followees = await listFollowees(feed.pool, userId);
    // From here on new posts are heard of; those from before are counted.
    audience.follow(watcher, feed.includeOwn ? [...followees, userId] : followees);
    watcher.since ??= await findNewest(observed, userId);
    const scan = await scanFeed(observed, userId, { from: watcher.since, direction: 'newer', want: PAGE_SIZE_MAX + 1 });
    return createNewerPosts(watcher.since, PAGE_SIZE_MAX, scan.entries, !scan.isEnd);
  }

  return {
    watch(userId, cursor) {
      const since = cursor == null ? null : decodeCursor(cursor, userId, feed.cursorKeys);
      if (audience.ofViewer(userId).size >= deps.perViewerMax) {
        throw new TidelineError('RATE_LIMITED', `A viewer may have ${deps.perViewerMax} timelines open.`);
      }
      const updates = createUpdates<NewerReport>({
        intervalMs: deps.intervalMs,
        isSame,
        onTold: () => deps.metrics.updates.inc(),
        onClose() {
          watcher.state = 'closed';
          audience.remove(watcher);
          recounts.forget(watcher);
          deps.metrics.subscriptions.set(audience.size);
        },
      });
      const watcher: Watcher = { userId, since, newer: null, state: 'stale', held: new Set(), updates };
      audience.add(watcher, userId);
      deps.metrics.subscriptions.set(audience.size);
      countAnew(watcher);
      return updates.stream;
    },
    async close() {
      unsubscribe();
      for (const watcher of audience.all()) watcher.updates.close();
      await Promise.all([recounts.close(), judge.close()]);
    },
  };
}

/** Where counting starts for somebody who gave no cursor: all is newer than the end of an empty feed. */
async function findNewest(feed: FeedDeps, userId: bigint): Promise<Entry> {
  const { entries } = await scanFeed(feed, userId, { from: null, direction: 'older', want: 1 });
  return entries[0] ?? ENTRY_MIN;
}

/** False when it was moved on meanwhile. */
function leave(watcher: Watcher, from: Watcher['state'], to: Watcher['state']): boolean {
  if (watcher.state !== from) return false;
  watcher.state = to;
  return true;
}

const isAbove = (place: FeedPlace | null, contentId: bigint, { since }: Watcher): boolean =>
  place === null || since === null || isNewer({ publishTime: place.publishTime, contentId }, since);

const isSame = (a: NewerReport, b: NewerReport): boolean => a.newerCount === b.newerCount && a.hasMore === b.hasMore;
