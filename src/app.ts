import type { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import type { Config } from './config.js';
import type { Clock } from './domain/clock.js';
import { createLogger, type Logger } from './log.js';
import { createMetrics, type Metrics } from './metrics.js';
import { openDatabase, type Database } from './stores/database.js';
import { openQueueRedis, openRedis } from './stores/redis.js';
import { watchRedisIdentity, type RedisIdentity } from './stores/redis-identity.js';

/** Every client of one process, built once here and closed in reverse order. */
export interface App {
  readonly config: Config & { readonly DATABASE_URL: string; readonly REDIS_URL: string };
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: Registry;
  readonly meters: Metrics;
  readonly database: Database;
  /** Inboxes, caches. Commands fail fast while Redis is away. */
  readonly redis: Redis;
  /** Which Redis it is that `redis` talks to. */
  readonly redisIdentity: RedisIdentity;
  /** A subscriber connection of its own, for pub/sub. */
  readonly subscriber: Redis;
  /** BullMQ's connection. */
  readonly queueRedis: Redis;
  /** Registers what close() must end first; the last registered ends first. */
  onClose(close: () => Promise<unknown>): void;
  close(): Promise<void>;
}

/** @throws when a URL is missing or Redis and Postgres cannot be reached at all. */
export async function openApp(
  config: Config,
  options: { name: string; clock?: Clock; log?: Logger } = { name: 'tideline' },
): Promise<App> {
  const { DATABASE_URL, REDIS_URL } = config;
  if (!DATABASE_URL || !REDIS_URL)
    throw new Error('DATABASE_URL and REDIS_URL must be set (npm start sets them itself).');
  const log = options.log ?? createLogger(config.LOG_LEVEL, options.name);
  const closers: (() => Promise<unknown>)[] = [];
  const redisSettings = {
    url: REDIS_URL,
    timeoutMs: config.REDIS_TIMEOUT_MS,
    onError: warnOf(log),
  };
  const database = openDatabase({
    url: DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    onError: (error) => {
      log.warn({ error: error.message }, 'postgres connection');
    },
  });
  closers.push(() => database.close());
  const redis = openRedis(redisSettings);
  const subscriber = openRedis(redisSettings, { enableOfflineQueue: true, maxRetriesPerRequest: null });
  const queueRedis = openQueueRedis(redisSettings);
  for (const client of [redis, subscriber, queueRedis]) closers.push(() => quitRedis(client));
  await Promise.allSettled([redis.connect(), subscriber.connect()]);
  const metrics = new Registry();
  return {
    config: { ...config, DATABASE_URL, REDIS_URL },
    log,
    clock: options.clock ?? Date.now,
    metrics,
    meters: createMetrics(metrics),
    database,
    redis,
    redisIdentity: watchRedisIdentity({ redis, pool: database.pool }),
    subscriber,
    queueRedis,
    onClose: (close) => {
      closers.push(close);
    },
    async close() {
      for (const close of closers.splice(0).reverse()) {
        await close().catch((error: unknown) => {
          log.warn({ err: error }, 'closing');
        });
      }
    },
  };
}

/** The one client of a gateway that runs by itself; null without REDIS_URL. It may come up later, and go away. */
export async function openGatewayRedis(config: Config, log: Logger): Promise<Redis | null> {
  if (!config.REDIS_URL) return null;
  const redis = openRedis({ url: config.REDIS_URL, timeoutMs: config.REDIS_TIMEOUT_MS, onError: warnOf(log) });
  await redis.connect().catch(() => undefined);
  return redis;
}

const warnOf = (log: Logger) => (error: Error) => {
  log.warn({ error: error.message }, 'redis connection');
};

async function quitRedis(client: Redis): Promise<void> {
  if (client.status === 'ready') await client.quit();
  else client.disconnect();
}
