import { spawnSync } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { giveTo, type PostgresHome } from './postgres-account.js';
import { makeFolder } from './private-files.js';

/** initdb runs beside the final place and moves in when complete, so that a kill in the middle leaves nothing half made. */
export function createCluster(
  home: PostgresHome,
  pgdata: string,
  { password, durable }: { password: string; durable: boolean },
): void {
  const draft = `${pgdata}.new`;
  const passwordFile = `${draft}.password`;
  rmSync(draft, { recursive: true, force: true });
  makeFolder(draft, 0o700);
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  giveTo(home.account, draft);
  giveTo(home.account, passwordFile);
  try {
    const { status, stdout, stderr, error } = spawnSync(
      join(home.nativeDir, 'bin', 'initdb'),
      [
        `--pgdata=${draft}`,
        '--username=tideline',
        '--auth=scram-sha-256',
        `--pwfile=${passwordFile}`,
        '--encoding=UTF8',
        // Built into Postgres 17: the same order on every machine, whatever locales it has.
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--locale=C',
        ...(durable ? [] : ['--no-sync']),
      ],
      { ...home.account, cwd: home.homeDir, encoding: 'utf8', env: cleanEnvironment() },
    );
    if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? `${stdout}\n${stderr}`}`);
    renameSync(draft, pgdata);
  } finally {
    rmSync(passwordFile, { force: true });
  }
}

/** PGDATA, PGPORT and the like of the shell around must not leak into a server of our own. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
  return { ...Object.fromEntries(entries), LC_ALL: 'C', TZ: 'UTC' };
}
