import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from './log.js';
import type { PostgresHome } from './postgres-account.js';
import { cleanEnvironment } from './postgres-cluster.js';
import { readPidFile, stopPostgres } from './postgres-leftover.js';
import { findFreePort, readTextIfPresent } from './private-files.js';
import { isProcessAlive, waitUntil } from './processes.js';

const startAttemptsMax = 5;
const startTimeoutMs = 60_000;

/** Starts the server and waits until it accepts connections; on a free port when none is given. */
export async function startPostgresServer(
  home: PostgresHome,
  pgdata: string,
  { settings, port: wantedPort, log }: { settings: readonly string[]; port: number | undefined; log: Log },
): Promise<{ pid: number; port: number }> {
  const logFile = join(home.homeDir, 'postgres.log');
  for (let attempt = 1; ; attempt += 1) {
    const port = wantedPort ?? (await findFreePort());
    const pid = spawnServer(home, pgdata, settings, port, logFile);
    const isReady = await waitUntil(() => isReadyOrGone(pid, pgdata), startTimeoutMs, 20);
    if (isReady && isProcessAlive(pid)) return { pid, port };
    if (isProcessAlive(pid)) await stopPostgres(pid);
    const output = readTextIfPresent(logFile)?.slice(-4_000) ?? '';
    // Somebody else took the port, or the last children of a killed server are still leaving: both pass by themselves.
    const mayPass = /address already in use|could not bind|pre-existing shared memory|still in use/i.test(output);
    if (!mayPass || wantedPort !== undefined || attempt >= startAttemptsMax) {
      throw new Error(`Embedded Postgres does not start on ${pgdata}. Its log (${logFile}) ends:\n${output}`);
    }
    log.warn('Embedded Postgres did not start at first; trying again.');
    await sleep(300);
  }
}

function spawnServer(
  home: PostgresHome,
  pgdata: string,
  settings: readonly string[],
  port: number,
  logFile: string,
): number {
  // A file, not a pipe: the server must survive this process being killed. Emptied at each start, so it stays small.
  const output = openSync(logFile, 'w', 0o600);
  try {
    const child = spawn(
      join(home.nativeDir, 'bin', 'postgres'),
      ['-D', pgdata, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
      {
        ...home.account,
        cwd: home.homeDir,
        detached: true,
        stdio: ['ignore', output, output],
        env: cleanEnvironment(),
      },
    );
    child.on('error', () => undefined);
    if (!child.pid) throw new Error(`Cannot run ${join(home.nativeDir, 'bin', 'postgres')}.`);
    child.unref();
    return child.pid;
  } finally {
    closeSync(output);
  }
}

function isReadyOrGone(pid: number, pgdata: string): boolean {
  if (!isProcessAlive(pid)) return true;
  const file = readPidFile(pgdata);
  return file?.pid === pid && file.isReady;
}
