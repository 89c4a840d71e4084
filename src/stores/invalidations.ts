import type { Redis } from 'ioredis';
import { subscribeChannel } from './pub-sub.js';

/** What changed: the details of a content, or the card of a user. */
export type InvalidationKey = `content:${bigint}` | `user:${bigint}`;

/** Too many changes to name them: drop everything. */
export const INVALIDATE_ALL = 'all';

export const contentKey = (id: bigint): InvalidationKey => `content:${id}`;
export const userKey = (id: bigint): InvalidationKey => `user:${id}`;

/**
 * Tells every process that these details changed. Call it after the change is committed: a refresh that begins later
 * must find the new value. Lost messages are bounded by the cache's TTL.
 * @param prefix REDIS_KEY_PREFIX
 */
export async function publishInvalidation(
  redis: Redis,
  prefix: string,
  ...keys: (InvalidationKey | typeof INVALIDATE_ALL)[]
): Promise<void> {
  await Promise.all(keys.map((key) => redis.publish(channelOf(prefix), key)));
}

export interface InvalidationListener {
  onInvalidate(key: InvalidationKey): void;
  /** Drop everything: so much changed, or the subscription stands (again) and what happened before was not heard. */
  onReset(): void;
  onError(error: unknown): void;
}

/** Listens until the returned function is called (pub-sub.ts). */
export const subscribeInvalidations = (
  subscriber: Redis,
  prefix: string,
  listener: InvalidationListener,
): (() => void) =>
  subscribeChannel(subscriber, channelOf(prefix), {
    onMessage(message) {
      if (message === INVALIDATE_ALL) listener.onReset();
      else if (KEY_PATTERN.test(message)) listener.onInvalidate(message as InvalidationKey);
    },
    onSubscribed: () => listener.onReset(),
    onError: (error) => listener.onError(error),
  });

const channelOf = (prefix: string): string => `${prefix}:invalidate`;
const KEY_PATTERN = /^(content|user):\d{1,20}$/;
