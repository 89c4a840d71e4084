import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { chooseDownloader, hasApt, listDependencies, type Download } from './apt-packages.js';
import { makeFolder } from './private-files.js';
import { runTool } from './run-tool.js';

export type UnpackedRedis = { path: string; libraryPath: string };

// redis-tools needs two or three libraries, those need one or two: further rounds would fetch half a distribution.
const dependencyRoundsMax = 3;

/** The server unpacked earlier, if any. Whether it starts is for the caller to try. */
export function findUnpackedRedis(cacheDir: string): UnpackedRedis | null {
  return describe(join(cacheDir, `redis-${process.arch}`));
}

/**
 * Unpacks redis-server from the distribution's packages without installing anything, as any user. redis-check-rdb in
 * redis-tools is the same program as redis-server: which one it is, it tells by the name it is called.
 */
export function unpackRedis(cacheDir: string): UnpackedRedis {
  if (!hasApt()) {
    throw new Error('There is no redis-server here and no apt-get to fetch one with. Install Redis or set REDIS_URL.');
  }
  const target = join(makeFolder(cacheDir), `redis-${process.arch}`);
  const draft = `${target}.${process.pid}.tmp`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft);
  try {
    const download = chooseDownloader(draft);
    if (!download('redis-tools')) {
      throw new Error('apt-get could not fetch the package redis-tools. Install Redis or set REDIS_URL.');
    }
    addMissingLibraries(draft, download);
    rmSync(join(draft, 'debs'), { recursive: true, force: true });
    rmSync(join(draft, 'apt'), { recursive: true, force: true });
    symlinkSync('redis-check-rdb', join(draft, 'usr/bin/redis-server'));
    moveInto(draft, target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  const unpacked = describe(target);
  if (!unpacked) throw new Error('The package redis-tools holds no redis-check-rdb. Install Redis or set REDIS_URL.');
  return unpacked;
}

/** Fetches what the packages so far depend on, for as long as the program misses a library. */
function addMissingLibraries(draft: string, download: Download): void {
  const tried = new Set<string>(['redis-tools']);
  for (let round = 0; round < dependencyRoundsMax; round += 1) {
    const { path, libraryPath } = locate(draft);
    const linked = runTool('ldd', [path], draft, { LD_LIBRARY_PATH: libraryPath });
    // Without ldd nothing can be told; the two libraries that Debian and Ubuntu rarely have are fetched on suspicion.
    if (!linked.ok && round > 0) return;
    if (linked.ok && !linked.output.includes('not found')) return;
    for (const name of listDependencies(draft)) {
      if (tried.has(name) || name.startsWith('libc6') || name === 'adduser') continue;
      tried.add(name);
      download(name);
    }
  }
}

function moveInto(draft: string, target: string): void {
  // One that no longer starts (after an upgrade of the system, say) makes room; another start may have been first.
  rmSync(target, { recursive: true, force: true });
  try {
    renameSync(draft, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
}

function describe(folder: string): UnpackedRedis | null {
  return existsSync(join(folder, 'usr/bin/redis-check-rdb')) ? locate(folder, 'redis-server') : null;
}

function locate(folder: string, program = 'redis-check-rdb'): UnpackedRedis {
  // Multiarch folders are named by the machine: x86_64-linux-gnu, aarch64-linux-gnu ...
  const roots = ['usr/lib', 'lib'].map((root) => join(folder, root)).filter((root) => existsSync(root));
  const folders = roots.flatMap((root) => [
    root,
    ...readdirSync(root)
      .filter((name) => name.includes('-linux-gnu'))
      .map((name) => join(root, name)),
  ]);
  return { path: join(folder, 'usr/bin', program), libraryPath: folders.join(':') };
}
