import { join, resolve } from 'node:path';
import type { Log } from './log.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './postgres.js';
import { prepareRedisBinary, startEmbeddedRedis, type EmbeddedRedis } from './redis.js';
import { removeRunningFile, writeRunningFile } from './running-file.js';
import { takeStartLock } from './start-lock.js';

export { findRunningServices } from './running-file.js';

export type Services = {
  databaseUrl: string;
  redisUrl: string;
  /** Null where a URL was given: such a server is only used, never touched. */
  embedded: { postgres: EmbeddedPostgres | null; redis: EmbeddedRedis | null };
  /** Adds the addresses of the servers to running.json, for the CLI. */
  publishUrls(urls: Record<string, string>): void;
  /** Stops what was started here, Redis saved, and frees the data folder. May be called twice. */
  stop(): Promise<void>;
};

/**
 * Postgres and Redis for one process: those whose URL is given, and embedded ones on the data folder for the rest.
 * Throws when another start uses the folder, naming its process.
 */
export async function ensureServices(options: {
  dataDir: string;
  databaseUrl?: string | undefined;
  redisUrl?: string | undefined;
  log: Log;
}): Promise<Services> {
  const { log } = options;
  const dataDir = resolve(options.dataDir);
  const lock = takeStartLock(dataDir);
  const stopAll = async (servers: ({ stop(): Promise<void> } | null)[]) => {
    try {
      const results = await Promise.allSettled(servers.map(async (server) => server?.stop()));
      const failed = results.find((result) => result.status === 'rejected');
      if (failed) throw failed.reason;
    } finally {
      removeRunningFile(dataDir);
      lock.release();
    }
  };

  const [postgres, redis] = await Promise.allSettled([
    options.databaseUrl ? null : startEmbeddedPostgres({ dataDir, log }),
    options.redisUrl ? null : startRedis(dataDir, log),
  ]);
  if (postgres.status === 'rejected' || redis.status === 'rejected') {
    await stopAll([valueOf(postgres), valueOf(redis)]);
    throw postgres.status === 'rejected' ? postgres.reason : (redis as PromiseRejectedResult).reason;
  }
  const embedded = { postgres: postgres.value, redis: redis.value };
  const databaseUrl = options.databaseUrl ?? embedded.postgres?.url ?? '';
  const redisUrl = options.redisUrl ?? embedded.redis?.url ?? '';
  const publishUrls = (urls: Record<string, string>) => writeRunningFile(dataDir, { databaseUrl, redisUrl, urls });
  publishUrls({});
  let stopping: Promise<void> | null = null;
  return {
    databaseUrl,
    redisUrl,
    embedded,
    publishUrls,
    stop: () => (stopping ??= stopAll([embedded.postgres, embedded.redis])),
  };
}

async function startRedis(dataDir: string, log: Log): Promise<EmbeddedRedis> {
  const binary = await prepareRedisBinary(join(dataDir, 'cache'), { log });
  return startEmbeddedRedis({ dataDir, log, persistent: true, binary });
}

function valueOf<T>(result: PromiseSettledResult<T>): T | null {
  return result.status === 'fulfilled' ? result.value : null;
}
