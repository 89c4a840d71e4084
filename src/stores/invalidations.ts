import type { Redis } from 'ioredis';

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

/**
 * Listens for as long as the process lives or until the returned function is called; a lost connection is subscribed
 * again. `onReset` waits for Redis to confirm: 'ready' alone says only that the connection is back.
 * @param subscriber a connection for pub/sub; others may listen to their own channels on it.
 */
export function subscribeInvalidations(subscriber: Redis, prefix: string, listener: InvalidationListener): () => void {
  const channel = channelOf(prefix);
  const onMessage = (from: string, message: string): void => {
    if (from !== channel) return;
    if (message === INVALIDATE_ALL) listener.onReset();
    else if (KEY_PATTERN.test(message)) listener.onInvalidate(message as InvalidationKey);
  };
  const subscribe = (): void => {
    subscriber.subscribe(channel).then(
      () => listener.onReset(),
      (error: unknown) => listener.onError(error),
    );
  };
  subscriber.on('message', onMessage);
  subscriber.on('ready', subscribe);
  if (subscriber.status === 'ready') subscribe();
  return () => {
    subscriber.off('message', onMessage);
    subscriber.off('ready', subscribe);
  };
}

const channelOf = (prefix: string): string => `${prefix}:invalidate`;
const KEY_PATTERN = /^(content|user):\d{1,20}$/;
