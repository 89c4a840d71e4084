import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { prepareRedisBinary } from '../../src/embedded/redis.js';
import { cleanStaleRuns, createRunFolder, discardRun } from './run-folder.js';
import { harnessLog } from './harness-log.js';
import { prepareDatabases } from './template-database.js';

/**
 * One Postgres for the run (or TEST_DATABASE_URL), with a migrated template database, and a redis-server to start many
 * of. Test files reach them through harness/services.ts; what they need to know travels in the environment.
 */
export default async function setUpRun(): Promise<void> {
  const root = process.cwd();
  const testDir = join(root, '.data', 'test');
  mkdirSync(testDir, { recursive: true, mode: 0o755 });
  await cleanStaleRuns(testDir);
  const runDir = createRunFolder(testDir);
  process.env['TIDELINE_TEST_DIR'] = runDir;
  endOnSignals(runDir);
  try {
    const [redis] = await Promise.all([
      prepareRedisBinary(join(root, '.data', 'cache'), { log: harnessLog }),
      prepareDatabases(runDir),
    ]);
    process.env['TIDELINE_TEST_REDIS_BIN'] = redis.path;
    process.env['TIDELINE_TEST_REDIS_LIB'] = redis.libraryPath ?? '';
  } catch (error) {
    // Jest runs no teardown after a failed setup.
    await discardRun(runDir);
    throw error;
  }
}

/** Jest ends on a signal without its teardown; the servers have process groups of their own and would stay. */
function endOnSignals(runDir: string): void {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    process.once(signal, () => {
      void discardRun(runDir).finally(() => process.exit(code));
    });
  }
}
