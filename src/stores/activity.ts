import { ACTIVITY_RESOLUTION_MS, type ActivityWindows } from '../domain/push-policy.js';
import { defineStatement, type Queryable } from './database.js';

/** True when the reader's mark is old enough to be written again. */
export const isActivityStale = (lastActiveAt: number | null, now: number): boolean =>
  lastActiveAt === null || now - lastActiveAt >= ACTIVITY_RESOLUTION_MS;

/**
 * Marks the reader as seen. A return after a window bumps its seq in the same statement, which voids the floors that
 * relied on pushes in the meantime. It must be committed before the seqs are read. Repeating it changes nothing.
 */
export async function markActive(db: Queryable, userId: bigint, now: number, windows: ActivityWindows): Promise<void> {
  await upsertActivity(db, [String(userId), now, windows.activeMs, windows.dormantMs]);
}

const upsertActivity = defineStatement(
  'activity_mark',
  `INSERT INTO activity AS a (user_id, last_active_at)
   SELECT $1::numeric, $2::bigint WHERE NOT EXISTS (SELECT FROM users WHERE id = $1::numeric AND deleted_at IS NOT NULL)
   ON CONFLICT (user_id) DO UPDATE SET
     last_active_at = EXCLUDED.last_active_at,
     active_seq = a.active_seq + (EXCLUDED.last_active_at - a.last_active_at > $3)::int,
     awake_seq = a.awake_seq + (EXCLUDED.last_active_at - a.last_active_at > $4)::int
   WHERE a.last_active_at < EXCLUDED.last_active_at`,
);
