import type { Clock } from '../domain/clock.js';
import { ACTIVITY_MARGIN_MS } from '../domain/push-policy.js';
import { inTransaction, type Pool } from '../stores/database.js';
import { lockFeedState } from '../stores/feed-state.js';
import { findStaleEntries, listLapsedReaders, listUnprojectedAuthors } from '../stores/inbox-owners.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';
import type { InboxUpkeep } from '../stores/inbox/upkeep.js';

export interface TidyDeps {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly inbox: Pick<InboxStore, 'name' | 'read' | 'remove' | 'drop'>;
  readonly upkeep: InboxUpkeep;
  /** INBOX_MAX_AGE_DAYS in milliseconds: older entries are pulled. */
  readonly maxAgeMs: number;
  /** INBOX_MAX_ENTRIES: no inbox holds more. */
  readonly maxEntries: number;
}

export interface TidyReport {
  readonly dropped: number;
  readonly trimmed: number;
  readonly removed: number;
}

/** Inboxes of one step. */
const STEP_INBOXES = 50;

/**
 * One step over the inboxes: drops those that nothing is pushed to any more (their owners' next reads rebuild them), and
 * frees the others from what is too old, deleted or by somebody unfollowed. Feeds are the same before and after: what is
 * dropped or trimmed counts as missing and is pulled, what is removed could not be seen. Safe to repeat, and beside
 * anything.
 */
export async function tidyInboxes(
  deps: TidyDeps,
  position: string,
): Promise<{ report: TidyReport; position: string | null }> {
  const { upkeep, inbox, pool } = deps;
  const policy = await inTransaction(pool, lockFeedState);
  if (policy.inboxStore !== inbox.name) return { report: { dropped: 0, trimmed: 0, removed: 0 }, position: null };
  const listed = await upkeep.list(position, STEP_INBOXES);
  // As dispatchers count: whoever is passed by a push of either mode.
  const lapsed = await listLapsedReaders(pool, listed.userIds, deps.clock() - policy.dormantMs - ACTIVITY_MARGIN_MS);
  await inbox.drop(lapsed);
  const gone = new Set(lapsed);
  const kept = listed.userIds.filter((id) => !gone.has(id));
  const trimmed = kept.length > 0 ? await upkeep.trimOlder(kept, Math.floor(deps.clock() - deps.maxAgeMs)) : 0;
  let removed = 0;
  for (const userId of kept) removed += await removeStale(deps, userId);
  return { report: { dropped: lapsed.length, trimmed, removed }, position: listed.position };
}

/** The follows are read before the entries are removed, and hold only while the inbox covers exactly these (remove.lua). */
async function removeStale({ pool, inbox, maxEntries }: TidyDeps, userId: bigint): Promise<number> {
  const { head, entries } = await inbox.read(userId, { from: null, direction: 'older', limit: maxEntries });
  if (!head || entries.length === 0) return 0;
  const { followSeq, deleted, unfollowed } = await findStaleEntries(pool, userId, entries);
  if (deleted.length > 0) await inbox.remove(userId, deleted, null);
  const isCovered = head.followSeq === followSeq;
  if (isCovered && unfollowed.length > 0) await inbox.remove(userId, unfollowed, followSeq);
  return deleted.length + (isCovered ? unfollowed.length : 0);
}

/** One step over the projections of outboxes: drops those of authors who are removed. */
export async function tidyProjections(
  deps: { readonly pool: Pool; readonly outboxes: Pick<InboxStore, 'drop'>; readonly upkeep: InboxUpkeep },
  position: string,
): Promise<{ dropped: number; position: string | null }> {
  const listed = await deps.upkeep.list(position, STEP_INBOXES);
  const gone = await listUnprojectedAuthors(deps.pool, listed.userIds);
  await deps.outboxes.drop(gone);
  return { dropped: gone.length, position: listed.position };
}
