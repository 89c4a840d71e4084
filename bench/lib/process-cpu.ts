import { readdirSync, readFileSync } from 'node:fs';
import type { Pool } from '../../src/stores/database.js';

/** Linux counts a process's time in hundredths of a second. */
const TICK_US = 10_000;

/** CPU microseconds that a process, or with `children` it and those it started, has used. Linux only. */
export function readCpuUs(pid: number, { children = false } = {}): number {
  const own = ticksOf(pid);
  if (!children) return own * TICK_US;
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const below = pids.filter((name) => fieldsOf(Number(name))?.[1] === String(pid));
  return (own + below.reduce((sum, name) => sum + ticksOf(Number(name)), 0)) * TICK_US;
}

/** The server process behind a connection. */
export async function findPostgresPid(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return Number(fieldsOf(rows[0]?.pid ?? 0)?.[1]);
}

export async function findRedisPid(redis: { info(section: string): Promise<string> }): Promise<number> {
  return Number(/process_id:(\d+)/.exec(await redis.info('server'))?.[1]);
}

/** User and system time, with that of children that have ended. */
function ticksOf(pid: number): number {
  const fields = fieldsOf(pid);
  return fields ? [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0) : 0;
}

/** The fields of /proc/PID/stat after the name: state, parent and so on (proc_pid_stat(5)). */
function fieldsOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
