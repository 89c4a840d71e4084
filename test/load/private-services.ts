import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { prepareRedisBinary, startEmbeddedRedis } from '../../src/embedded/redis.js';
import { migrateDatabase } from '../../src/stores/migrate.js';
import { harnessLog } from '../harness/harness-log.js';
import { cleanStaleRuns, createRunFolder, discardRun } from '../harness/run-folder.js';

export interface PrivateServices {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  discard(): Promise<void>;
}

/** A migrated Postgres and a Redis that end with this process; the next run cleans up after a killed one. */
export const startPrivateServices = (): Promise<PrivateServices> =>
  withPrivateFolder(async (dataDir, discard) => {
    const binary = await prepareRedis();
    const [postgres, redis] = await Promise.all([
      startEmbeddedPostgres({ dataDir, log: harnessLog, durable: false }),
      startEmbeddedRedis({ dataDir, log: harnessLog, persistent: false, binary }),
    ]);
    await migrateDatabase({ databaseUrl: postgres.url, log: harnessLog });
    return { databaseUrl: postgres.url, redisUrl: redis.url, discard };
  });

export const prepareRedis = () => prepareRedisBinary(join(process.cwd(), '.data', 'cache'), { log: harnessLog });

/** Starts servers in a folder of this run, which `discard`, a signal or a failed start deletes together with them. */
export async function withPrivateFolder<T>(start: (dataDir: string, discard: () => Promise<void>) => Promise<T>) {
  const parent = join(process.cwd(), '.data', 'test');
  mkdirSync(parent, { recursive: true });
  await cleanStaleRuns(parent);
  const dataDir = createRunFolder(parent);
  const discard = () => discardRun(dataDir);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void discard().finally(() => process.exit(130)));
  }
  try {
    return await start(dataDir, discard);
  } catch (error) {
    await discard();
    throw error;
  }
}
