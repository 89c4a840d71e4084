import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import {
  CONTENT_EVENT_QUEUE,
  PUSH_QUEUE,
  QUEUE_STREAM_MAX,
  type ContentEventPayload,
  type PushTaskPayload,
} from './catalog.js';

export interface Queues {
  readonly contentEvents: Queue<ContentEventPayload>;
  readonly pushTasks: Queue<PushTaskPayload>;
  close(): Promise<void>;
}

/** All queues share one hash tag, so that BullMQ's scripts work on a cluster. */
export const queuePrefix = (keyPrefix: string): string => `{${keyPrefix}q}`;

/** @param onError told of each failed connection; BullMQ goes on trying by itself. */
export function openQueues(connection: Redis, keyPrefix: string, onError: (error: Error) => void): Queues {
  const options = { connection, prefix: queuePrefix(keyPrefix), streams: { events: { maxLen: QUEUE_STREAM_MAX } } };
  const contentEvents = new Queue<ContentEventPayload>(CONTENT_EVENT_QUEUE, options);
  const pushTasks = new Queue<PushTaskPayload>(PUSH_QUEUE, options);
  for (const queue of [contentEvents, pushTasks]) queue.on('error', onError);
  return {
    contentEvents,
    pushTasks,
    async close() {
      await Promise.all([contentEvents.close(), pushTasks.close()]);
    },
  };
}
