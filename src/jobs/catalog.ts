import type { JobsOptions } from 'bullmq';
import { z } from 'zod';

/** Payloads carry a version: a worker that does not know it fails the job with a clear message and loses nothing. */
const idText = z.string().regex(/^\d{1,20}$/);

export const contentEventPayload = z.object({
  v: z.literal(1),
  type: z.enum(['content.published', 'content.deleted', 'content.visibility_changed']),
  eventId: idText,
  authorId: idText,
  contentId: idText,
  /** Tasks below this number are known to be queued; a dispatcher that died leaves the rest to its successor. */
  queuedTasks: z.number().int().min(0).default(0),
});

export const pushTaskPayload = z.object({
  v: z.literal(1),
  contentId: idText,
  /** Epoch milliseconds. */
  publishTime: z.number().int().min(0),
  taskNo: z.number().int().min(0),
  /** Ascending. */
  userIds: z.array(idText).min(1),
});

export type ContentEventPayload = z.infer<typeof contentEventPayload>;
export type PushTaskPayload = z.infer<typeof pushTaskPayload>;

/** Names are public: dashboards and alerts use them. */
export const CONTENT_EVENT_QUEUE = 'event_content_meta_change';
export const PUSH_QUEUE = 'timeline_push';

/** Finished jobs are kept for a look in the dashboard, never longer than this: nothing grows with history. */
const kept: JobsOptions = {
  removeOnComplete: { count: 1_000, age: 3_600 },
  removeOnFail: { count: 5_000, age: 14 * 86_400 },
};

/**
 * An event is tried for more than half a day, since nothing but a lost store can fail it. Pauses double up to a minute
 * (start-workers.ts).
 */
export const contentEventOptions: JobsOptions = {
  ...kept,
  attempts: 1_000,
  backoff: { type: 'custom' },
};

export const pushTaskOptions = (attempts: number): JobsOptions => ({
  ...kept,
  attempts,
  backoff: { type: 'custom' },
});

/** One job an event and one job a task: adding it again while it is known changes nothing. */
export const contentEventJobId = (eventId: bigint): string => `event-${eventId.toString()}`;
export const pushTaskJobId = (contentId: bigint, taskNo: number): string => `${contentId.toString()}-${String(taskNo)}`;
