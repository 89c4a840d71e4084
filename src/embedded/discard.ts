import { existsSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from './log.js';
import { findPostgresHome } from './postgres-account.js';
import { readPidFile } from './postgres-leftover.js';
import { readTextIfPresent } from './private-files.js';
import { listServersIn, readCommandLine, stopProcess } from './processes.js';

// A process that is itself about to end may still start a server while its folder is discarded.
const roundsMax = 5;

/**
 * Ends the servers that still run on a data folder and deletes it, wherever its database lies. For data of no worth (a
 * test run's): nothing is saved. The caller holds the folder's start lock or knows that nobody uses it.
 */
export async function discardDataDir(dataDir: string, log: Log): Promise<void> {
  if (!existsSync(dataDir)) return;
  const folder = realpathSync(dataDir);
  const homeDir = findPostgresHome(join(folder, 'postgres'));
  const { postgres, redis } = readPids(join(homeDir, 'pgdata'), join(folder, 'redis'));
  // Immediate shutdown: unlike a kill it also frees the shared memory segment, of which a system has only so many.
  if (postgres) await stopProcess(postgres, [{ signal: 'SIGQUIT', waitMs: 3_000 }]);
  if (redis) await kill(redis, folder, log);
  for (let round = 0; round < roundsMax; round += 1) {
    for (const path of [homeDir, folder]) rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    const servers = [...listServersIn(homeDir), ...listServersIn(folder)];
    for (const pid of servers) await kill(pid, folder, log);
    if (servers.length === 0 && !existsSync(folder)) return;
  }
}

async function kill(pid: number, folder: string, log: Log): Promise<void> {
  const isStopped = await stopProcess(pid, [{ signal: 'SIGKILL', waitMs: 3_000 }]);
  if (!isStopped) log.warn(`Process ${pid} on ${folder} does not stop.`);
}

/** The servers by their pid files; their command lines must agree, since pids are used again. */
function readPids(pgdata: string, redisDir: string): { postgres: number | null; redis: number | null } {
  const postgres = readPidFile(pgdata)?.pid;
  const redis = Number(readTextIfPresent(join(redisDir, 'redis.pid')));
  return {
    postgres: postgres && readCommandLine(postgres).includes(`-D ${pgdata}`) ? postgres : null,
    redis: redis && /(redis|valkey)-server 127\.0\.0\.1/.test(readCommandLine(redis)) ? redis : null,
  };
}
