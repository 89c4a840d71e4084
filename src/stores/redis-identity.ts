import type { Redis } from 'ioredis';
import type { Pool } from './database.js';
import { registerRedis } from './feed-state.js';

/** Which Redis answers, and since which epoch its inboxes may be relied on. */
export interface RedisIdentity {
  /** The epoch that counts since this connection was made. Asked again after each loss of the connection. */
  validSince(): Promise<bigint>;
}

/**
 * A Redis that comes back may have lost the last seconds: it was restarted from disk, restored, or a replica that was
 * behind took over. Its inboxes are whole in themselves then, with heads that claim what was lost. So every new connection
 * asks for the server's run id before the first inbox is read; one that the authority does not know starts a new epoch.
 */
export function watchRedisIdentity(deps: { redis: Redis; pool: Pool }): RedisIdentity {
  const { redis, pool } = deps;
  let known: Promise<bigint> | null = null;
  redis.on('close', () => (known = null));
  return {
    validSince() {
      if (known) return known;
      const asked = identify();
      known = asked;
      asked.catch(() => {
        if (known === asked) known = null;
      });
      return asked;
    },
  };

  async function identify(): Promise<bigint> {
    const runId = /run_id:(\w+)/.exec(await redis.info('server'))?.[1];
    if (!runId) throw new Error('Redis does not tell its run_id');
    return registerRedis(pool, runId);
  }
}
