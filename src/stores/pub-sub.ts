import type { Redis } from 'ioredis';

export interface ChannelListener {
  onMessage(message: string): void;
  /** The subscription stands, for the first time or again: what was said before was not heard. */
  onSubscribed(): void;
  onError(error: unknown): void;
}

/**
 * Listens for as long as the process lives or until the returned function is called; a lost connection is subscribed
 * again. `onSubscribed` waits for Redis to confirm: 'ready' alone says only that the connection is back.
 * @param subscriber a connection for pub/sub; others may listen to their own channels on it.
 */
export function subscribeChannel(subscriber: Redis, channel: string, listener: ChannelListener): () => void {
  const onMessage = (from: string, message: string): void => {
    if (from === channel) listener.onMessage(message);
  };
  const subscribe = (): void => {
    subscriber.subscribe(channel).then(
      () => listener.onSubscribed(),
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
