import { defineStatement, type Queryable } from './database.js';

/** Woken by publishers' commits; see publish in src/social. */
export const EVENTS_CHANNEL = 'tideline_events';

/** Only one relay moves events at a time, so that an author's events are queued in the order of their commits. */
export const RELAY_LOCK_KEY = 727_073_701;

export type EventType = 'content.published' | 'content.deleted' | 'content.visibility_changed';

export interface OutboxEvent {
  readonly eventId: bigint;
  readonly type: EventType;
  readonly authorId: bigint;
  readonly contentId: bigint;
}

/** The oldest events that were not moved yet. */
export async function listWaitingEvents(db: Queryable, limit: number): Promise<OutboxEvent[]> {
  const rows = await selectWaiting(db, [limit]);
  return rows.map((row) => ({
    eventId: BigInt(row.id),
    type: row.type,
    authorId: BigInt(row.author_id),
    contentId: BigInt(row.content_id),
  }));
}

/** Called after the queue has them. A relay that dies in between queues them again: handlers are idempotent. */
export async function markRelayed(db: Queryable, eventIds: readonly bigint[]): Promise<void> {
  await updateRelayed(db, [eventIds.map(String)]);
}

/** How many events wait, and since when. */
export async function readRelayBacklog(db: Queryable): Promise<{ length: number; oldestAt: Date | null }> {
  const [row] = await selectBacklog(db, []);
  return { length: Number(row?.length ?? 0), oldestAt: row?.oldest_at ?? null };
}

const selectWaiting = defineStatement<{ id: string; type: EventType; author_id: string; content_id: string }>(
  'events_waiting',
  `SELECT id, type, author_id, content_id FROM events WHERE relayed_at IS NULL ORDER BY id LIMIT $1`,
);

const updateRelayed = defineStatement(
  'events_mark_relayed',
  `UPDATE events SET relayed_at = now() WHERE id = ANY($1::bigint[])`,
);

const selectBacklog = defineStatement<{ length: string; oldest_at: Date | null }>(
  'events_backlog',
  `SELECT count(*) AS length, min(created_at) AS oldest_at FROM events WHERE relayed_at IS NULL`,
);
