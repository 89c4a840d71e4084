import { CLEANUP_PRIORITY, contentEventJobId, contentEventOptions, planOptions } from '../jobs/catalog.js';
import type { Queues } from '../jobs/queues.js';
import type { Pool } from '../stores/database.js';
import type { LiveSignal } from '../stores/live-signals.js';
import { listWaitingEvents, markRelayed, type OutboxEvent } from '../stores/relay-events.js';

/** Events moved in one round. */
const RELAY_BATCH = 500;

/** Tells open timelines. It must not throw. */
export type Announce = (signals: readonly LiveSignal[]) => void;

/**
 * Moves one batch of events from the outbox table to the queue, in id order, and marks them afterwards: at least once.
 * Returns how many were moved. Run it under the relay lock only (start-relay.ts).
 */
export async function relayEvents(deps: {
  pool: Pool;
  queues: Pick<Queues, 'contentEvents'>;
  announce?: Announce;
}): Promise<number> {
  const events = await listWaitingEvents(deps.pool, RELAY_BATCH);
  if (events.length === 0) return 0;
  // Once more than the publisher did, who may have stopped in between or know nothing of timelines; and here, since what
  // is published is readable however long the queues are.
  deps.announce?.(events.map(signalOf));
  await deps.queues.contentEvents.addBulk(
    events.map((event) => ({
      name: event.type,
      data: {
        v: 1 as const,
        type: event.type,
        eventId: String(event.eventId),
        authorId: String(event.authorId),
        contentId: String(event.contentId),
        queuedTasks: 0,
      },
      opts: { ...optionsOf(event), jobId: contentEventJobId(event.eventId) },
    })),
  );
  await markRelayed(
    deps.pool,
    events.map((event) => event.eventId),
  );
  return events.length;
}

const optionsOf = ({ type, contentId }: OutboxEvent) =>
  type === 'content.published' ? planOptions(contentId) : { ...contentEventOptions, priority: CLEANUP_PRIORITY };

const signalOf = ({ type, authorId, contentId }: OutboxEvent): LiveSignal => ({
  kind: type === 'content.published' ? 'published' : 'changed',
  authorId,
  contentId,
});
