import { contentEventOptions, pushTaskJobId } from '../jobs/catalog.js';
import type { Queues } from '../jobs/queues.js';
import type { Pool } from '../stores/database.js';
import { failTask, listWaitingTasks } from '../stores/fanout-tasks.js';
import { listStuckFanouts } from '../stores/fanouts.js';

/** Fan-outs looked at in one sweep, and the age from which an unfinished one is suspected. */
const SWEEP_LIMIT = 200;
const STUCK_AFTER_MS = 60_000;

/**
 * Finds deliveries that the queue no longer knows of (it was emptied, or lost with Redis) and plans them again; planning
 * queues each unfinished task anew, which changes nothing where it is still queued. A task whose job has failed for good
 * without its failure being recorded is recorded now. Safe to run anywhere, any number of times.
 */
export async function sweepFanouts(deps: {
  pool: Pool;
  queues: Queues;
}): Promise<{ replanned: number; failed: number }> {
  const report = { replanned: 0, failed: 0 };
  for (const fanout of await listStuckFanouts(deps.pool, STUCK_AFTER_MS, SWEEP_LIMIT)) {
    const { contentId, authorId } = fanout;
    for (const task of await listWaitingTasks(deps.pool, contentId, 0)) {
      const job = await deps.queues.pushTasks.getJob(pushTaskJobId(contentId, task.taskNo));
      if (!job || !(await job.isFailed())) continue;
      await failTask(deps.pool, contentId, task.taskNo, job.failedReason);
      report.failed += 1;
    }
    const event = { v: 1, type: 'content.published', eventId: '0', queuedTasks: 0 } as const;
    await deps.queues.contentEvents.add(
      event.type,
      { ...event, authorId: String(authorId), contentId: String(contentId) },
      { ...contentEventOptions, removeOnComplete: true, jobId: `sweep-${contentId.toString()}` },
    );
    report.replanned += 1;
  }
  return report;
}
