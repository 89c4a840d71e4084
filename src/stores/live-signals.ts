import type { Redis } from 'ioredis';
import { subscribeChannel, type ChannelListener } from './pub-sub.js';

/**
 * Something happened that may change what a timeline shows. `published`: a content was; `changed`: one was deleted, or
 * may be seen by others than before; `relations`: this user follows, or is divided by a block from, others than before.
 */
export type LiveSignal =
  | { readonly kind: 'published' | 'changed'; readonly authorId: bigint; readonly contentId: bigint }
  | { readonly kind: 'relations'; readonly userId: bigint };

/**
 * Tells every process. One message a change on one channel, however many followers an author has: who listens looks up
 * its own viewers. A channel an author would spare processes what concerns none of their viewers, and cost Redis a
 * subscription for each author whom some connected viewer follows.
 *
 * Call it after the change is committed. It may be repeated, and may be lost: who missed messages counts anew.
 * @param prefix REDIS_KEY_PREFIX
 */
export async function publishSignals(redis: Redis, prefix: string, signals: readonly LiveSignal[]): Promise<void> {
  await Promise.all(signals.map((signal) => redis.publish(channelOf(prefix), encode(signal))));
}

/** Listens until the returned function is called (pub-sub.ts). */
export const subscribeSignals = (
  subscriber: Redis,
  prefix: string,
  listener: Omit<ChannelListener, 'onMessage'> & { onSignal(signal: LiveSignal): void },
): (() => void) =>
  subscribeChannel(subscriber, channelOf(prefix), {
    onMessage(message) {
      const signal = decode(message);
      if (signal) listener.onSignal(signal);
    },
    onSubscribed: () => listener.onSubscribed(),
    onError: (error) => listener.onError(error),
  });

const channelOf = (prefix: string): string => `${prefix}:live`;

const encode = (signal: LiveSignal): string =>
  signal.kind === 'relations' ? `relations ${signal.userId}` : `${signal.kind} ${signal.authorId} ${signal.contentId}`;

/** Null for what a process of another version may say. */
function decode(message: string): LiveSignal | null {
  const [, content, authorId = '', contentId = '', userId = ''] =
    /^(?:(published|changed) (\d{1,20}) (\d{1,20})|relations (\d{1,20}))$/.exec(message) ?? [];
  if (content) return { kind: content as 'changed', authorId: BigInt(authorId), contentId: BigInt(contentId) };
  return userId ? { kind: 'relations', userId: BigInt(userId) } : null;
}
