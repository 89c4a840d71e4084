import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonIfPresent, writePrivateFile } from './private-files.js';
import { readProcessStamp } from './processes.js';
import { isSameProcess } from './start-lock.js';

/** What a running start tells the CLI on the same data folder. Holds passwords: mode 600. */
export type RunningServices = {
  pid: number;
  databaseUrl: string;
  redisUrl: string;
  /** By name, as the start published them: gateway, timeline, ... Empty until it has. */
  urls: Record<string, string>;
};

/** The services of the start that runs on this folder, or null when none does (a killed one's file does not count). */
export function findRunningServices(dataDir: string): RunningServices | null {
  const file = readJsonIfPresent<RunningServices & { stamp: string }>(join(dataDir, 'running.json'));
  if (!file?.pid || !file.stamp || !file.databaseUrl || !file.redisUrl) return null;
  if (!isSameProcess(file.pid, file.stamp)) return null;
  return { pid: file.pid, databaseUrl: file.databaseUrl, redisUrl: file.redisUrl, urls: file.urls ?? {} };
}

export function writeRunningFile(dataDir: string, services: Omit<RunningServices, 'pid'>): void {
  const own = { pid: process.pid, stamp: readProcessStamp(process.pid) ?? '' };
  writePrivateFile(join(dataDir, 'running.json'), `${JSON.stringify({ ...own, ...services }, null, 2)}\n`);
}

export function removeRunningFile(dataDir: string): void {
  rmSync(join(dataDir, 'running.json'), { force: true });
}
