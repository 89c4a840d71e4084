import { randomBytes } from 'node:crypto';
import { ENTRY_MIN, ENTRY_TOP } from '../domain/entry.js';
import { inTransaction, type Pool } from '../stores/database.js';
import { readEpoch } from '../stores/feed-state.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';
import { pullOutboxes } from '../stores/outboxes.js';
import { tryLockRebuild } from '../stores/rebuild-lock.js';
import type { RebuildResult } from './rebuild-inbox.js';

/**
 * Writes the projection of one outbox, as rebuildInbox writes an inbox and for the same reasons: begin, then pull, then
 * fill. Once per author at a time; safe to repeat.
 * @param maxEntries entries that a projection keeps; what is older is pulled from Postgres.
 */
export async function rebuildOutbox(
  deps: { pool: Pool; outboxes: Pick<InboxStore, 'begin' | 'fill'>; maxEntries: number },
  authorId: bigint,
): Promise<RebuildResult> {
  const nonce = randomBytes(8).toString('hex');
  return inTransaction(deps.pool, async (client) => {
    if (!(await tryLockRebuild(client, 'outbox', authorId))) return 'busy';
    await deps.outboxes.begin(authorId, nonce);
    const epoch = await readEpoch(client);
    const ranges = [{ authorId, below: ENTRY_TOP }];
    const entries = await pullOutboxes(client, ranges, { from: null, direction: 'older', limit: deps.maxEntries });
    const floor = entries.length < deps.maxEntries ? ENTRY_MIN : (entries.at(-1) ?? ENTRY_TOP);
    const fill = { epoch, followSeq: 0n, activeSeq: 0n, awakeSeq: 0n, entries, allFloor: floor, activeFloor: floor };
    return (await deps.outboxes.fill(authorId, nonce, fill)) ? 'filled' : 'superseded';
  });
}
