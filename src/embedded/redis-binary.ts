import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Log } from './log.js';
import { findUnpackedRedis, unpackRedis } from './redis-unpack.js';

export type RedisBinary = {
  path: string;
  /** Folders for LD_LIBRARY_PATH, when the libraries were unpacked beside the program. */
  libraryPath: string | null;
  version: string;
};

/**
 * Finds a redis-server: `REDIS_SERVER_BIN`, then PATH, then one unpacked earlier into the cache folder; else unpacks the
 * distribution's own package there. The variables are read here and not in config.ts because they describe the machine.
 */
export async function prepareRedisBinary(cacheDir: string, { log }: { log: Log }): Promise<RedisBinary> {
  const named = process.env['REDIS_SERVER_BIN'];
  if (named) {
    const binary = tryRedis(named, null);
    if (binary) return binary;
    throw new Error(`REDIS_SERVER_BIN=${named} is no redis-server that starts here.`);
  }
  // Valkey is Redis under another name, and the only one that some distributions package.
  for (const name of ['redis-server', 'valkey-server']) {
    const path = findOnPath(name);
    const binary = path ? tryRedis(path, null) : null;
    if (binary) return binary;
  }
  const cached = findUnpackedRedis(cacheDir);
  const known = cached ? tryRedis(cached.path, cached.libraryPath) : null;
  if (known) return known;

  log.info('There is no redis-server here: unpacking one from the distribution (once, about a minute at most).');
  const unpacked = unpackRedis(cacheDir);
  const binary = tryRedis(unpacked.path, unpacked.libraryPath);
  if (binary) return binary;
  throw new Error(`The redis-server unpacked to ${unpacked.path} does not start. ${redisAdvice}`);
}

export const redisAdvice =
  'Install Redis (Debian, Ubuntu: apt-get install redis-server; Fedora: dnf install valkey; macOS: brew install redis), ' +
  'or set REDIS_SERVER_BIN to a redis-server, or REDIS_URL to a running Redis.';

/** Runs it once: libraries differ per release, so only a program that has started counts. */
function tryRedis(path: string, libraryPath: string | null): RedisBinary | null {
  const env = libraryPath ? { ...process.env, LD_LIBRARY_PATH: libraryPath } : process.env;
  const { status, stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', env });
  const version = status === 0 ? /\bv=(\d+\.\d+\.\d+)/.exec(stdout)?.[1] : undefined;
  return version ? { path, libraryPath, version } : null;
}

function findOnPath(name: string): string | null {
  // The sbin folders are missing from an ordinary user's PATH on Debian.
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin'];
  for (const folder of folders.filter(Boolean)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      continue;
    }
  }
  return null;
}
