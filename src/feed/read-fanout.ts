import { forbidden } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import type { Pool } from '../stores/database.js';
import { throwAsAway } from '../stores/database-away.js';
import { findFanout, readUnfinishedDeliveries, type FanoutState } from '../stores/fanouts.js';

/** How far the delivery of one content has come. Counts are of followers and tasks. */
export interface FanoutReport {
  readonly contentId: bigint;
  readonly state: FanoutState;
  /** Null before the choice, and for contents that are pulled only. */
  readonly mode: 'ALL_FOLLOWERS' | 'ACTIVE_FOLLOWERS' | null;
  readonly targetCount: number;
  readonly isPlanned: boolean;
  readonly deliveredCount: number;
  readonly taskCount: number;
  readonly finishedTaskCount: number;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/**
 * Null for an unknown content.
 * @throws TidelineError FORBIDDEN unless the viewer wrote it or is an admin.
 */
export async function readFanout(pool: Pool, viewer: Viewer, contentId: bigint): Promise<FanoutReport | null> {
  const fanout = await findFanout(pool, contentId).catch(throwAsAway);
  if (!fanout) return null;
  if (fanout.authorId !== viewer.userId && !viewer.isAdmin) {
    throw forbidden('Only its author and admins may ask how a content is delivered.');
  }
  const deliveredCount = fanout.deliveredCount + (await readUnfinishedDeliveries(pool, contentId));
  return { ...fanout, mode: fanout.mode === 'NOBODY' ? null : fanout.mode, deliveredCount };
}
