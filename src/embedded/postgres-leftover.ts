import { rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Log } from './log.js';
import { readTextIfPresent } from './private-files.js';
import { isProcessAlive, listServersIn, readCommandLine, stopProcess } from './processes.js';

const leftoverWaitMs = 8_000;

export type PidFile = { pid: number; port: number; isReady: boolean };

/** What postmaster.pid says; null when there is none or it is still being written. */
export function readPidFile(pgdata: string): PidFile | null {
  // Lines by Postgres' miscadmin.h: pid, folder, start time, port, socket folder, address, shared memory, status.
  const lines = readTextIfPresent(join(pgdata, 'postmaster.pid'))?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return null;
  return { pid, port: Number(lines[3]), isReady: lines[7]?.trim() === 'ready' };
}

/**
 * A start that was killed leaves its Postgres running. Returns it when it answers with our password on this folder and
 * was started with the same settings; otherwise stops it. A pid file without such a process is removed.
 */
export async function takeOverLeftover(
  pgdata: string,
  options: { password: string; settings: readonly string[]; log: Log },
): Promise<PidFile | null> {
  const found = readPidFile(pgdata);
  if (!found) {
    rmSync(join(pgdata, 'postmaster.pid'), { force: true });
    return null;
  }
  if (!isPostgresOf(found.pid, pgdata)) {
    options.log.warn(`Removed a stale postmaster.pid (process ${found.pid} is not a Postgres on ${pgdata}).`);
    await clearPidFile(pgdata);
    return null;
  }
  const command = readCommandLine(found.pid);
  const isSame = options.settings.every((setting) => command.includes(setting));
  if (isSame && (await answers(found.port, options.password, pgdata))) return found;
  options.log.warn(`Stopping a Postgres (process ${found.pid}) that an earlier start left running on ${pgdata}.`);
  await stopPostgres(found.pid, leftoverWaitMs);
  await clearPidFile(pgdata);
  return null;
}

/**
 * Postgres itself takes a pid file as live when any process has the number, a zombie too, so it has to go. But it is also
 * Postgres' guard against children that outlive a killed postmaster and still write: those are ended first.
 */
async function clearPidFile(pgdata: string): Promise<void> {
  for (const pid of listServersIn(pgdata)) await stopProcess(pid, [{ signal: 'SIGKILL', waitMs: 5_000 }]);
  rmSync(join(pgdata, 'postmaster.pid'), { force: true });
}

/** Fast shutdown first: it ends sessions and writes a checkpoint. The harder signals leave recovery to the next start. */
export async function stopPostgres(pid: number, fastWaitMs = 20_000): Promise<void> {
  const isStopped = await stopProcess(pid, [
    { signal: 'SIGINT', waitMs: fastWaitMs },
    { signal: 'SIGQUIT', waitMs: 3_000 },
    { signal: 'SIGKILL', waitMs: 2_000 },
  ]);
  if (!isStopped) throw new Error(`Postgres (process ${pid}) does not stop.`);
}

/** True when the server at the port accepts our password and serves this very folder. */
async function answers(port: number, password: string, pgdata: string): Promise<boolean> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'tideline',
    password,
    database: 'postgres',
    ssl: false,
    connectionTimeoutMillis: 3_000,
    query_timeout: 3_000,
  });
  // A server that goes away between two queries must not end this process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    return rows[0]?.data_directory === pgdata;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function isPostgresOf(pid: number, pgdata: string): boolean {
  return isProcessAlive(pid) && readCommandLine(pid).includes(`-D ${pgdata}`);
}
