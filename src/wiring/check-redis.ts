import type { App } from '../app.js';
import { StartError } from '../http.js';

/** Older servers lack commands that BullMQ or the inbox scripts use. */
const VERSION_MIN = [6, 2] as const;

/**
 * Refuses to start on a Redis that would lose data by itself: an evicted key is a lost inbox or a lost job. A Redis that
 * cannot be reached is no reason; readers do without it until it is back.
 * @throws StartError naming what does not fit
 */
export async function checkRedis({ redis, log }: Pick<App, 'redis' | 'log'>): Promise<void> {
  const info = await redis.info().catch((error: unknown) => {
    log.warn({ err: error }, 'redis cannot be checked now');
    return null;
  });
  if (info === null) return;
  const version = /redis_version:(\d+)\.(\d+)/.exec(info)?.slice(1).map(Number) ?? [0, 0];
  const [major = 0, minor = 0] = version;
  if (major < VERSION_MIN[0] || (major === VERSION_MIN[0] && minor < VERSION_MIN[1])) {
    throw new StartError(`Redis ${version.join('.')} is too old: ${VERSION_MIN.join('.')} or newer is needed.`);
  }
  const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1];
  if (policy !== 'noeviction') {
    throw new StartError(
      `Redis runs maxmemory-policy ${policy ?? 'unknown'} and would evict inboxes and jobs. ` +
        'Set it to noeviction (redis.conf, or CONFIG SET maxmemory-policy noeviction).',
    );
  }
}
