import { planOptions } from '../jobs/catalog.js';
import type { Queues } from '../jobs/queues.js';
import type { Pool } from '../stores/database.js';
import { failTask, listWaitingTasks } from '../stores/fanout-tasks.js';
import { touchStuckFanouts, type Fanout } from '../stores/fanouts.js';
import { readJobState } from './queue-task.js';

export interface SweepDeps {
  readonly pool: Pool;
  readonly queues: Queues;
  /** STUCK_AFTER_MS: a delivery that has not moved for so long is compared with the queue. */
  readonly stuckAfterMs: number;
}

export interface SweepReport {
  /** Fan-outs that were looked at. */
  readonly suspected: number;
  /** Fan-outs that were planned again because something of them was missing in the queue. */
  readonly replanned: number;
  /** Tasks whose job had failed for good without the table knowing. */
  readonly failed: number;
}

/** Fan-outs looked at in one sweep: what waits longer comes first at the next one. */
const SWEEP_LIMIT = 2_000;
const SWEEP_BATCH = 100;

/**
 * Compares deliveries that do not move with the queue, and plans those again of which the queue has lost something (it was
 * emptied, or went down with Redis). Planning queues each missing task anew. Safe to run anywhere, any number of times.
 */
export async function sweepFanouts(deps: SweepDeps): Promise<SweepReport> {
  const report = { suspected: 0, replanned: 0, failed: 0 };
  while (report.suspected < SWEEP_LIMIT) {
    const stuck = await touchStuckFanouts(deps.pool, deps.stuckAfterMs, SWEEP_BATCH);
    for (const fanout of stuck) {
      const { missing, failed } = await compareWithQueue(deps, fanout);
      report.failed += failed;
      if (fanout.isPlanned && missing === 0) continue;
      await planAgain(deps.queues, fanout);
      report.replanned += 1;
    }
    report.suspected += stuck.length;
    if (stuck.length < SWEEP_BATCH) break;
  }
  return report;
}

async function compareWithQueue(deps: SweepDeps, { contentId }: Fanout): Promise<{ missing: number; failed: number }> {
  const counts = { missing: 0, failed: 0 };
  for (const task of await listWaitingTasks(deps.pool, contentId, 0)) {
    const state = await readJobState(deps.queues, task);
    if (state === 'missing') counts.missing += 1;
    if (typeof state !== 'object') continue;
    await failTask(deps.pool, contentId, task.taskNo, state.failedReason);
    counts.failed += 1;
  }
  return counts;
}

/** Changes nothing while its plan is in the queue. The event is none of the table's, so it has no number. */
export async function planAgain(
  queues: Pick<Queues, 'contentEvents'>,
  { contentId, authorId }: Pick<Fanout, 'contentId' | 'authorId'>,
): Promise<void> {
  await queues.contentEvents.add(
    'content.published',
    {
      v: 1,
      type: 'content.published',
      eventId: '0',
      queuedTasks: 0,
      authorId: String(authorId),
      contentId: String(contentId),
    },
    { ...planOptions(contentId), removeOnComplete: true, removeOnFail: true },
  );
}
