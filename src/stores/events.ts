import { defineStatement, type Queryable } from './database.js';
import { EVENTS_CHANNEL, type EventType } from './relay-events.js';

/**
 * Writes the event of a change and wakes the relay, both at the commit of the change. The author must be locked
 * (lockAuthor), as the event's id is drawn here.
 */
export async function appendEvent(
  db: Queryable,
  event: { type: EventType; authorId: bigint; contentId: bigint },
): Promise<void> {
  await insertEvent(db, [event.type, event.authorId, event.contentId]);
}

const insertEvent = defineStatement(
  'events_append',
  `WITH event AS (INSERT INTO events (type, author_id, content_id) VALUES ($1, $2, $3))
   SELECT pg_notify('${EVENTS_CHANNEL}', '')`,
);
