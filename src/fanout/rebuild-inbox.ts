import { randomBytes } from 'node:crypto';
import { ENTRY_MIN, ENTRY_TOP } from '../domain/entry.js';
import { inTransaction, type Pool } from '../stores/database.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';
import { pullOutboxes } from '../stores/outboxes.js';
import { readFollowees, readReaderState } from '../stores/reader-state.js';
import { tryLockRebuild } from '../stores/rebuild-lock.js';

export interface RebuildDeps {
  readonly pool: Pool;
  readonly inbox: Pick<InboxStore, 'name' | 'begin' | 'fill'>;
  /** INBOX_MAX_ENTRIES: no more are pulled. */
  readonly maxEntries: number;
}

/** `busy`: another process rebuilds it. `superseded`: it was lost, or begun by another, while this one pulled. */
export type RebuildResult = 'filled' | 'busy' | 'superseded' | 'unused';

/**
 * Writes an inbox from the outboxes, once per reader at a time. Three steps, in this order: begin, so that pushes are
 * taken from now on; pull, which sees every content committed so far; fill, which lowers the floors to what was pulled.
 * So each content is pulled, or pushed into the begun inbox, or both. Safe to repeat.
 */
export async function rebuildInbox(deps: RebuildDeps, userId: bigint): Promise<RebuildResult> {
  const nonce = randomBytes(8).toString('hex');
  return inTransaction(deps.pool, async (client) => {
    if (!(await tryLockRebuild(client, 'inbox', userId))) return 'busy';
    const before = await readReaderState(client, userId, NO_ENTRIES);
    if (before.isDeleted || before.feedMode === 'pull' || before.inboxStore !== deps.inbox.name) return 'unused';
    await deps.inbox.begin(userId, nonce);
    const reader = await readReaderState(client, userId, NO_ENTRIES);
    const followees = await readFollowees(client, userId);
    const ranges = followees.map((followee) => ({ authorId: followee.userId, below: ENTRY_TOP }));
    const entries = await pullOutboxes(client, ranges, { from: null, direction: 'older', limit: deps.maxEntries });
    const isWhole = entries.length < deps.maxEntries;
    const floor = isWhole ? ENTRY_MIN : (entries.at(-1) ?? ENTRY_TOP);
    const fill = { ...reader, entries, allFloor: floor, activeFloor: floor };
    return (await deps.inbox.fill(userId, nonce, fill)) ? 'filled' : 'superseded';
  });
}

const NO_ENTRIES = { from: null, direction: 'older', limit: 0 } as const;
