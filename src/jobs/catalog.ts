import type { JobsOptions } from 'bullmq';
import { z } from 'zod';

const idText = z.string().regex(/^\d{1,20}$/);

const contentEventPayload = z.object({
  v: z.literal(1),
  type: z.enum(['content.published', 'content.deleted', 'content.visibility_changed']),
  eventId: idText,
  authorId: idText,
  contentId: idText,
  /** Tasks below this number are known to be queued; a dispatcher that died leaves the rest to its successor. */
  queuedTasks: z.number().int().min(0).default(0),
});

const pushTaskPayload = z.object({
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

/** A job that a newer or older release has made. It is nobody's fault and must reach a worker that knows it. */
export class UnknownJobError extends Error {}

/** @throws UnknownJobError for another version or type of payload, ZodError for what no release writes. */
export const readContentEvent = (data: unknown): ContentEventPayload => {
  const { type } = assertKnownVersion(data);
  if (typeof type === 'string' && !contentEventPayload.shape.type.safeParse(type).success) {
    throw new UnknownJobError(`events of type ${type} are not known to this release`);
  }
  return contentEventPayload.parse(data);
};

/** @throws UnknownJobError for another version of payload, ZodError for what no release writes. */
export const readPushTask = (data: unknown): PushTaskPayload => {
  assertKnownVersion(data);
  return pushTaskPayload.parse(data);
};

/** Two releases run side by side during a deploy: payloads carry their version. */
function assertKnownVersion(data: unknown): { readonly type?: unknown } {
  const { v, type } = (data ?? {}) as { v?: unknown; type?: unknown };
  if (typeof v === 'number' && v !== 1) {
    throw new UnknownJobError(`payloads of version ${String(v)} are not known to this release, which knows version 1`);
  }
  return { type };
}

/** Names are public: dashboards and alerts use them. */
export const CONTENT_EVENT_QUEUE = 'event_content_meta_change';
export const PUSH_QUEUE = 'timeline_push';

/**
 * Finished jobs are kept for a look in the dashboard, never more or longer than this: a task holds a thousand ids. What
 * has failed stands in fanout_tasks too, and `tideline retry` makes its job anew.
 */
const kept: JobsOptions = {
  removeOnComplete: { count: 200, age: 3_600 },
  removeOnFail: { count: 500, age: 14 * 86_400 },
};

/** Entries of a queue's event stream that BullMQ keeps; nobody here reads further back. */
export const QUEUE_STREAM_MAX = 1_000;

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

/**
 * Jobs without a priority go first, then the least number (BullMQ). A new post is planned before the author's clean-up
 * and before plans that go on: neither a thousand deletes nor a big plan hold it up.
 */
export const CLEANUP_PRIORITY = 1;
export const planPriority = (deliveryPriority: number): number => CLEANUP_PRIORITY + deliveryPriority;

/** A content has one plan at a time in the queue: adding another one meanwhile changes nothing. */
export const planOptions = (contentId: bigint): JobsOptions => ({
  ...contentEventOptions,
  deduplication: { id: `plan-${contentId.toString()}` },
});

/** One job an event and one job a task: adding it again while it is known changes nothing. */
export const contentEventJobId = (eventId: bigint): string => `event-${eventId.toString()}`;
export const pushTaskJobId = (contentId: bigint, taskNo: number): string => `${contentId.toString()}-${String(taskNo)}`;

/** Null for an id of another kind. Tells the task of a job whose payload cannot be read. */
export function readPushTaskJobId(jobId: string): { contentId: bigint; taskNo: number } | null {
  const match = /^(\d{1,20})-(\d{1,9})$/.exec(jobId);
  return match ? { contentId: BigInt(match[1] as string), taskNo: Number(match[2]) } : null;
}
