import type { Cursor } from '../domain/cursor.js';
import type { Direction, Entry } from '../domain/entry.js';
import { whyNotInFeed } from '../domain/visibility.js';
import { viewerOf, type ScanDeps } from './scan.js';

/**
 * What the inbox and this process still know of a page while Postgres is away: entries of the inbox that, as far as was
 * heard within CONTENT_CACHE_TTL_MS, the viewer may see. It may lack entries, and says so (`isComplete: false`); an entry
 * of which nothing is known is left out. Null when nothing at all is known.
 */
export async function readWithoutAuthority(
  deps: ScanDeps,
  userId: bigint,
  walk: { from: Cursor | null; direction: Direction; want: number },
): Promise<Entry[] | null> {
  const reader = deps.lastKnown.readerOf(userId);
  if (!reader || reader.inboxStore !== deps.inbox.name) return null;
  const { from, direction, want } = walk;
  try {
    const { entries } = await deps.inbox.read(userId, { from, direction, limit: want * deps.scanBudget });
    const { facts } = deps.lastKnown;
    const viewer = viewerOf(deps, userId, reader);
    return entries.filter((entry) => whyNotInFeed(entry, facts, viewer) === null).slice(0, want);
  } catch (error) {
    deps.onInboxError(error);
    return null;
  }
}
