import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { discardDataDir } from '../../src/embedded/discard.js';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { prepareRedisBinary, startEmbeddedRedis } from '../../src/embedded/redis.js';
import { takeStartLock } from '../../src/embedded/start-lock.js';
import { migrateDatabase } from '../../src/stores/migrate.js';
import { harnessLog } from '../harness/harness-log.js';

export interface PrivateServices {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  discard(): Promise<void>;
}

/** A migrated Postgres and a Redis that end with this process; the next `npm test` cleans up after a killed one. */
export async function startPrivateServices(): Promise<PrivateServices> {
  const parent = join(process.cwd(), '.data', 'test');
  mkdirSync(parent, { recursive: true });
  const dataDir = mkdtempSync(join(parent, 'run-'));
  // mkdtemp closes it to the account that Postgres runs as when this runs as root.
  chmodSync(dataDir, 0o755);
  takeStartLock(dataDir);
  const discard = () => discardDataDir(dataDir, harnessLog);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void discard().finally(() => process.exit(130)));
  }
  try {
    const binary = await prepareRedisBinary(join(process.cwd(), '.data', 'cache'), { log: harnessLog });
    const [postgres, redis] = await Promise.all([
      startEmbeddedPostgres({ dataDir, log: harnessLog, durable: false }),
      startEmbeddedRedis({ dataDir, log: harnessLog, persistent: false, binary }),
    ]);
    await migrateDatabase({ databaseUrl: postgres.url, log: harnessLog });
    return { databaseUrl: postgres.url, redisUrl: redis.url, discard };
  } catch (error) {
    await discard();
    throw error;
  }
}
