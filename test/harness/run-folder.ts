import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { discardDataDir } from '../../src/embedded/discard.js';
import { takeStartLock } from '../../src/embedded/start-lock.js';
import { harnessLog } from './harness-log.js';
import { releaseDatabases } from './template-database.js';

// Runs may overlap (two terminals, an editor), so each has a folder of its own under .data/test, with a start lock that
// says whether it still runs. In it: postgres/, and servers/<n>/redis/ for each private Redis.

export function createRunFolder(testDir: string): string {
  const runDir = mkdtempSync(join(testDir, 'run-'));
  // mkdtemp closes it to the account that Postgres runs as when the tests run as root.
  chmodSync(runDir, 0o755);
  takeStartLock(runDir);
  mkdirSync(join(runDir, 'servers'));
  return runDir;
}

/** Folders whose run was killed. One that is still in use keeps its lock and is left alone. */
export async function cleanStaleRuns(testDir: string): Promise<void> {
  for (const name of readdirSync(testDir)) {
    const runDir = join(testDir, name);
    if (!name.startsWith('run-') || isInUse(runDir)) continue;
    await discardFolders(runDir);
  }
}

export async function discardRun(runDir: string): Promise<void> {
  await releaseDatabases();
  await discardFolders(runDir);
}

async function discardFolders(runDir: string): Promise<void> {
  const servers = join(runDir, 'servers');
  const folders = existsSync(servers) ? readdirSync(servers).map((name) => join(servers, name)) : [];
  await Promise.all(folders.map((folder) => discardDataDir(folder, harnessLog)));
  await discardDataDir(runDir, harnessLog);
}

function isInUse(runDir: string): boolean {
  try {
    takeStartLock(runDir);
    return false;
  } catch {
    // Its message names the process that uses the folder; here that is all there is to know.
    return true;
  }
}
