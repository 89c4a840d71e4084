import type { App } from '../../src/app.js';
import { compareEntries, ENTRY_TOP, isOlder, type Entry } from '../../src/domain/entry.js';
import { effectiveFloors } from '../../src/domain/inbox-head.js';
import { readReaderState } from '../../src/stores/reader-state.js';
import { sampleReaders } from '../../src/verify/sample-readers.js';
import { createInboxStore } from '../../src/wiring/feed.js';

export interface CheckedInboxes {
  /** Inboxes that claim to be complete down to somewhere, and the entries that these claims are about. */
  claiming: number;
  claimed: number;
  lost: number;
  duplicated: number;
  misordered: number;
}

/**
 * Compares inboxes with what they claim: above its floors an inbox must hold each entry of a covered follow that is
 * delivered and not deleted, each once, at its publish time. Feeds can be right although a claim is wrong, as long as
 * something is in flight. Run it when nothing is.
 */
export async function checkInboxes(app: App, limit: number, say: (text: string) => void): Promise<CheckedInboxes> {
  const checked = { claiming: 0, claimed: 0, lost: 0, duplicated: 0, misordered: 0 };
  for (const userId of await sampleReaders(app.database.pool, limit)) {
    const found = await checkInbox(app, userId);
    if (!found) continue;
    checked.claiming += 1;
    checked.claimed += found.claimed;
    for (const kind of ['lost', 'duplicated', 'misordered'] as const) {
      checked[kind] += found[kind].length;
      if (found[kind].length > 0) say(`inbox of ${userId}: ${kind} ${found[kind].slice(0, 5).map(String).join(' ')}`);
    }
  }
  return checked;
}

async function checkInbox(app: App, userId: bigint) {
  const { pool } = app.database;
  const reader = await readReaderState(pool, userId, { from: null, direction: 'older', limit: 0 });
  const { head, entries } = await createInboxStore(app).read(userId, {
    from: null,
    direction: 'older',
    limit: 100_000,
  });
  const floors = effectiveFloors(head, reader);
  // Whoever has been away is skipped by deliveries, and the floors are void when they return.
  const awayMs = app.clock() - (reader.lastActiveAt ?? -Infinity);
  if (awayMs > reader.dormantMs || compareEntries(floors.allFloor, ENTRY_TOP) === 0) return null;
  const activeFloor = awayMs > reader.activeMs ? ENTRY_TOP : floors.activeFloor;
  const { rows } = await pool.query<{ id: string; publish_time: string; mode: string }>(
    `SELECT c.id, c.publish_time, f.mode FROM follows w
     JOIN contents c ON c.author_id = w.followee_id JOIN fanouts f ON f.content_id = c.id
     WHERE w.follower_id = $1 AND w.follow_seq <= $2 AND c.deleted_at IS NULL AND f.state = 'DONE'`,
    [String(userId), String(floors.followSeq)],
  );
  const contents = rows.map(({ id, publish_time, mode }) => ({
    contentId: BigInt(id),
    publishTime: Number(publish_time),
    mode,
  }));
  const claimed = contents.filter(({ mode, ...entry }) =>
    mode === 'ALL_FOLLOWERS'
      ? !isOlder(entry, floors.allFloor)
      : mode === 'ACTIVE_FOLLOWERS' && !isOlder(entry, activeFloor),
  );
  return { claimed: claimed.length, ...compare(entries, claimed, contents) };
}

function compare(entries: readonly Entry[], claimed: readonly Entry[], contents: readonly Entry[]) {
  const held = new Set(entries.map(({ contentId }) => contentId));
  const times = new Map(contents.map(({ contentId, publishTime }) => [contentId, publishTime]));
  const ids = (found: readonly Entry[]): bigint[] => found.map(({ contentId }) => contentId);
  const seen = new Set<bigint>();
  return {
    lost: ids(claimed).filter((contentId) => !held.has(contentId)),
    duplicated: ids(entries.filter(({ contentId }) => seen.size === seen.add(contentId).size)),
    misordered: ids(
      entries.filter(
        (entry, i) =>
          (i > 0 && compareEntries(entries[i - 1] as Entry, entry) > 0) ||
          (times.get(entry.contentId) ?? entry.publishTime) !== entry.publishTime,
      ),
    ),
  };
}
