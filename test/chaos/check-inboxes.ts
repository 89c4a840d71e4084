import { setTimeout as pause } from 'node:timers/promises';
import type { App } from '../../src/app.js';
import { compareEntries, ENTRY_TOP, isOlder, type Entry } from '../../src/domain/entry.js';
import { effectiveFloors, type Floors } from '../../src/domain/inbox-head.js';
import { readReaderState, type ReaderState } from '../../src/stores/reader-state.js';
import { sampleReaders } from '../../src/verify/sample-readers.js';
import { createFeed, type Feed } from '../../src/wiring/feed.js';

export interface CheckedInboxes {
  /** Checks of inboxes that claimed to be complete down to somewhere, and entries that these claims were about. */
  claims: number;
  claimed: number;
  lost: number;
  duplicated: number;
  misordered: number;
}

/**
 * Compares inboxes with what they claim, while everything goes on: above its floors an inbox holds each delivered entry of
 * a covered follow that is not deleted, each once, at its publish time. A feed can be right although a claim is wrong, as
 * long as something else brings the entry.
 * @param limit inboxes, looked at in turn
 */
export function watchInboxes(app: App, limit: number, say: (text: string) => void) {
  const feed = createFeed(app, undefined, { schedule: () => undefined });
  const checked: CheckedInboxes = { claims: 0, claimed: 0, lost: 0, duplicated: 0, misordered: 0 };
  const stop = new AbortController();
  const ended = (async () => {
    while (!stop.signal.aborted) {
      // A store that is away is looked at again.
      await checkAll(stop.signal).catch(() => pause(RETRY_MS));
    }
  })();

  async function checkAll(signal?: AbortSignal): Promise<void> {
    for (const userId of await sampleReaders(app.database.pool, limit)) {
      if (signal?.aborted) return;
      const found = await checkInbox(feed, userId);
      if (signal) await pause(BREATH_MS);
      if (!found) continue;
      checked.claims += 1;
      checked.claimed += found.claimed;
      for (const kind of ['lost', 'duplicated', 'misordered'] as const) {
        checked[kind] += found[kind].length;
        if (found[kind].length > 0) say(`inbox of ${userId}: ${kind} ${found[kind].slice(0, 5).map(String).join(' ')}`);
      }
    }
  }

  return {
    /** Ends the watch with a last look at all of them. */
    async stop(): Promise<CheckedInboxes> {
      stop.abort();
      await ended;
      await checkAll();
      return checked;
    },
  };
}

const RETRY_MS = 200;
const BREATH_MS = 10;

/** Null when the inbox claims nothing, or when what its claims rely on changed meanwhile. */
async function checkInbox(feed: Feed, userId: bigint) {
  const before = await readReaderState(feed.pool, userId, NO_ENTRIES);
  const delivered = await readDelivered(feed, userId);
  const page = await feed.inbox.read(userId, { from: null, direction: 'older', limit: 100_000 });
  const after = await readReaderState(feed.pool, userId, NO_ENTRIES);
  if (SEQS.some((seq) => before[seq] !== after[seq]) || (page.validSince ?? 0n) > before.epoch) return null;
  const floors = claimsOf(feed, effectiveFloors(page.head, before), after);
  if (!floors) return null;
  const claimed = delivered.filter(
    ({ mode, followSeq, ...entry }) =>
      followSeq <= floors.followSeq && !isOlder(entry, mode === 'ALL_FOLLOWERS' ? floors.allFloor : floors.activeFloor),
  );
  const held = new Set(page.entries.map(({ contentId }) => contentId));
  const missing = claimed.filter(({ contentId }) => !held.has(contentId));
  // Cleaned meanwhile, because it was deleted or its author is followed no more.
  const still = missing.length === 0 ? [] : await readDelivered(feed, userId);
  const lost = missing.filter((it) => still.some((now) => now.contentId === it.contentId));
  return {
    claimed: claimed.length,
    lost: lost.map(({ contentId }) => contentId),
    ...judgeOrder(page.entries, delivered),
  };
}

const NO_ENTRIES = { from: null, direction: 'older', limit: 0 } as const;
const SEQS = ['epoch', 'followSeq', 'activeSeq', 'awakeSeq'] as const;

/** Whoever has been away is skipped by deliveries; the floors are void when they return. */
function claimsOf({ clock }: Feed, floors: Floors, reader: ReaderState): Floors | null {
  const awayMs = clock() - (reader.lastActiveAt ?? -Infinity);
  if (awayMs > reader.dormantMs || compareEntries(floors.allFloor, ENTRY_TOP) === 0) return null;
  return awayMs > reader.activeMs ? { ...floors, activeFloor: ENTRY_TOP } : floors;
}

/** Everything that was pushed to the followers of those whom the reader follows. */
async function readDelivered({ pool }: Feed, userId: bigint) {
  const { rows } = await pool.query<{ id: string; publish_time: string; mode: string; follow_seq: string }>(
    `SELECT c.id, c.publish_time, f.mode, w.follow_seq FROM follows w
     JOIN contents c ON c.author_id = w.followee_id JOIN fanouts f ON f.content_id = c.id
     WHERE w.follower_id = $1 AND c.deleted_at IS NULL AND f.state = 'DONE' AND f.mode <> 'NOBODY'`,
    [String(userId)],
  );
  return rows.map(({ id, publish_time, mode, follow_seq }) => ({
    contentId: BigInt(id),
    publishTime: Number(publish_time),
    mode,
    followSeq: BigInt(follow_seq),
  }));
}

function judgeOrder(entries: readonly Entry[], contents: readonly Entry[]) {
  const times = new Map(contents.map(({ contentId, publishTime }) => [contentId, publishTime]));
  const seen = new Set<bigint>();
  const isOutOfPlace = (entry: Entry, i: number): boolean =>
    (i > 0 && compareEntries(entries[i - 1] as Entry, entry) > 0) ||
    (times.get(entry.contentId) ?? entry.publishTime) !== entry.publishTime;
  return {
    duplicated: entries.map(({ contentId }) => contentId).filter((id) => seen.size === seen.add(id).size),
    misordered: entries.filter(isOutOfPlace).map(({ contentId }) => contentId),
  };
}
