import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chownSync, cpSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from './log.js';
import { makeFolder } from './private-files.js';
import { runTool } from './run-tool.js';

/** Under which account Postgres runs, and folders that this account can reach. */
export type PostgresHome = { nativeDir: string; homeDir: string; account: { uid: number; gid: number } | null };

const sharedDir = '/var/lib/tideline';

/**
 * Postgres refuses to run as root. For root it runs as `postgres` (made when missing), and that account must be able to
 * enter the program's and the data's folders: under a closed parent (mode 700, as /root is) neither can be, so both
 * move to /var/lib/tideline. An ordinary user needs none of this.
 */
export function preparePostgresHome(
  binaries: { nativeDir: string; version: string },
  homeDir: string,
  log: Log,
): PostgresHome {
  makeFolder(homeDir);
  if (process.getuid?.() !== 0) {
    checkOwner(join(homeDir, 'pgdata'));
    return { nativeDir: binaries.nativeDir, homeDir, account: null };
  }
  const account =
    findOwner(join(homeDir, 'pgdata')) ?? findAccount('postgres') ?? createAccount() ?? findAccount('nobody');
  if (!account) throw new Error('Postgres cannot run as root and no other account could be made. Set DATABASE_URL.');

  let nativeDir = binaries.nativeDir;
  if (!canEnter(account, join(nativeDir, 'bin'))) {
    nativeDir = join(makeFolder(sharedDir), `native-${binaries.version}-${process.arch}`);
    copyOnce(binaries.nativeDir, nativeDir);
  }
  if (canEnter(account, homeDir)) return { nativeDir, homeDir, account };
  const moved = makeFolder(nameMovedHome(homeDir));
  log.warn(
    `Account postgres may not enter ${homeDir} (a parent folder is closed to it): the database lies in ${moved}.`,
  );
  return { nativeDir, homeDir: moved, account };
}

/** Where preparePostgresHome put (or would put) the database of this folder. */
export function findPostgresHome(homeDir: string): string {
  const moved = nameMovedHome(homeDir);
  return process.getuid?.() === 0 && existsSync(moved) ? moved : homeDir;
}

/** Gives a path to the account; nothing to do for an ordinary user. */
export function giveTo(account: PostgresHome['account'], path: string): void {
  if (account) chownSync(path, account.uid, account.gid);
}

function nameMovedHome(homeDir: string): string {
  return join(sharedDir, createHash('sha256').update(homeDir).digest('hex').slice(0, 16));
}

function checkOwner(pgdata: string): void {
  const owner = statSync(pgdata, { throwIfNoEntry: false })?.uid;
  if (owner === undefined || owner === process.getuid?.()) return;
  throw new Error(
    `${pgdata} belongs to user ${owner}: an earlier start ran as root or as another user. ` +
      'Start as that user again, remove the folder, or set TIDELINE_DATA_DIR to another one.',
  );
}

/** Data that an ordinary user made stays that user's when root starts once. */
function findOwner(pgdata: string): { uid: number; gid: number } | null {
  const stat = statSync(pgdata, { throwIfNoEntry: false });
  return stat && stat.uid !== 0 ? { uid: stat.uid, gid: stat.gid } : null;
}

function findAccount(name: string): { uid: number; gid: number } | null {
  try {
    const read = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: 'pipe' }));
    return { uid: read('-u'), gid: read('-g') };
  } catch {
    return null;
  }
}

function createAccount(): { uid: number; gid: number } | null {
  runTool('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', 'postgres']);
  return findAccount('postgres');
}

function canEnter(account: { uid: number; gid: number }, folder: string): boolean {
  // cwd is entered before the account changes, so the test has to be a cd of its own.
  const { status } = spawnSync('sh', ['-c', 'cd "$1"', 'sh', folder], { ...account, cwd: '/' });
  return status === 0;
}

function copyOnce(from: string, to: string): void {
  if (existsSync(to)) return;
  const draft = `${to}.${process.pid}.tmp`;
  cpSync(from, draft, { recursive: true, verbatimSymlinks: true });
  // A root with umask 077 must not lock the account out again.
  execFileSync('chmod', ['-R', 'a+rX', draft]);
  try {
    renameSync(draft, to);
  } catch {
    // Another start copied it first; both copies are the same.
    rmSync(draft, { recursive: true, force: true });
  }
}
