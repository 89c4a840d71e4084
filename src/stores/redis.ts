import { Redis, type RedisOptions } from 'ioredis';

export type RedisClient = Redis;

/** Commands fail instead of waiting for a lost server: a reader goes on from Postgres, a job is tried again. */
export interface RedisSettings {
  readonly url: string;
  readonly timeoutMs: number;
  readonly onError: (error: Error) => void;
}

/** A client for inboxes, caches and pub/sub. Reconnects by itself, at most 2 s apart. */
export function openRedis(settings: RedisSettings, options: RedisOptions = {}): Redis {
  const redis = new Redis(settings.url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: settings.timeoutMs,
    connectTimeout: settings.timeoutMs,
    retryStrategy: (attempt) => Math.min(50 * attempt, 2_000),
    lazyConnect: true,
    ...options,
  });
  redis.on('error', settings.onError);
  return redis;
}

/** A client as BullMQ wants it: blocking commands wait for ever and survive reconnects. */
export const openQueueRedis = (settings: RedisSettings): Redis =>
  openRedis(settings, {
    enableOfflineQueue: true,
    maxRetriesPerRequest: null,
    commandTimeout: undefined as unknown as number,
    lazyConnect: false,
  });
