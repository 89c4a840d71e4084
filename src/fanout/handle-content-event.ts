import type { Job } from 'bullmq';
import { planPriority, readContentEvent, type ContentEventPayload } from '../jobs/catalog.js';
import type { Logger } from '../log.js';
import { findFanout } from '../stores/fanouts.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';
import { planFanout, type PlanDeps } from './plan-fanout.js';
import { PutBackError, puttingBack } from './put-back.js';

export interface EventDeps extends PlanDeps {
  readonly outboxes: Pick<InboxStore, 'insert' | 'remove'>;
  readonly log: Pick<Logger, 'warn'>;
  /** A content was deleted or changed who may see it: caches everywhere must let go of it. */
  readonly onContentChanged: (contentId: bigint) => Promise<void>;
}

/** A plan that reached the bound on outstanding tasks looks again after this. */
const FULL_PAUSE_MS = 50;

/** A publication is planned, turn by turn; every other change is announced. */
export const handleContentEvent = (deps: EventDeps, job: Job, token: string | undefined): Promise<void> =>
  puttingBack(deps.log, job, token, async () => {
    const event = readContentEvent(job.data);
    if (event.type === 'content.published') return plan(deps, job, event);
    const contentId = BigInt(event.contentId);
    await deps.onContentChanged(contentId);
    if (event.type === 'content.deleted') await forgetProjection(deps, contentId);
  });

/** @throws PutBackError while something is left to plan: others go first. */
async function plan(deps: EventDeps, job: Job, event: ContentEventPayload): Promise<void> {
  const contentId = BigInt(event.contentId);
  const { queuedTasks, end, priority } = await planFanout(deps, contentId, event.queuedTasks);
  const fanout = await findFanout(deps.pool, contentId);
  await job.updateProgress({ plannedTasks: fanout?.taskCount ?? 0, targets: fanout?.targetCount ?? 0 });
  if (end === 'planned') return;
  await job.updateData({ ...event, queuedTasks });
  await job.changePriority({ priority: planPriority(priority) });
  throw new PutBackError('the plan goes on', end === 'full' ? FULL_PAUSE_MS : 0, false);
}

/** Readers filter deleted contents anyway; this spares them the work. */
async function forgetProjection(deps: EventDeps, contentId: bigint): Promise<void> {
  const fanout = await findFanout(deps.pool, contentId);
  if (fanout) await deps.outboxes.remove(fanout.authorId, [fanout], null);
}
