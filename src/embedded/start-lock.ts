import { linkSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, readJsonIfPresent, readTextIfPresent } from './private-files.js';
import { readProcessStamp } from './processes.js';

type LockFile = { pid: number; stamp: string };

/**
 * `start.lock`: absent (nobody uses the folder), live (the process named in it runs and has the stamp in it) or stale
 * (it does not: killed, or its pid went to another process). Only the process that made it removes a live one; anyone
 * who wants to start removes a stale one.
 */
export function takeStartLock(dataDir: string): { release(): void } {
  const path = join(makeFolder(dataDir), 'start.lock');
  const draft = `${path}.${process.pid}`;
  const content = JSON.stringify({ pid: process.pid, stamp: readProcessStamp(process.pid) ?? '' });
  writeFileSync(draft, content, { mode: 0o600 });
  try {
    // A link fails when the lock exists, and shows it whole or not at all; two rounds serve one stale lock.
    for (let round = 0; round < 3; round += 1) {
      if (tryLink(draft, path)) return { release: () => releaseLock(path, content) };
      removeIfStale(path, dataDir);
    }
  } finally {
    rmSync(draft, { force: true });
  }
  throw new Error(`The data folder ${dataDir} is being started by another process right now; try again.`);
}

/** True when the pid still is the process that wrote the stamp. */
export function isSameProcess(pid: number, stamp: string): boolean {
  return readProcessStamp(pid) === stamp;
}

function removeIfStale(path: string, dataDir: string): void {
  const text = readTextIfPresent(path);
  if (text === null) return;
  const lock = readJsonIfPresent<LockFile>(path);
  if (lock?.pid && lock.stamp !== undefined && isSameProcess(lock.pid, lock.stamp)) {
    throw new Error(
      `The data folder ${dataDir} is in use by process ${lock.pid} (another npm start?). ` +
        'Stop that one first, or set TIDELINE_DATA_DIR to another folder.',
    );
  }
  // Moved aside and looked at again: between reading and removing, another start may have put a live lock there.
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (readTextIfPresent(aside) !== text) tryLink(aside, path);
  rmSync(aside, { force: true });
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function releaseLock(path: string, content: string): void {
  if (readTextIfPresent(path) === content) unlinkSync(path);
}
