import type { Redis } from 'ioredis';
import type { Pool } from './database.js';
import { registerRedis } from './feed-state.js';

/** Which Redis answers, and since which epoch its inboxes may be relied on. */
export interface RedisIdentity {
  /** The server's run id: another one after each of its starts. Asked again after each loss of the connection. */
  serverId(): Promise<string>;
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
  const serverId = rememberUntilClosed(redis, async () => {
    const runId = /run_id:(\w+)/.exec(await redis.info('server'))?.[1];
    if (!runId) throw new Error('Redis does not tell its run_id');
    return runId;
  });
  return { serverId, validSince: rememberUntilClosed(redis, async () => registerRedis(pool, await serverId())) };
}

/** Asks once a connection; what failed is asked again. */
function rememberUntilClosed<T>(redis: Redis, ask: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | null = null;
  redis.on('close', () => (known = null));
  return () => {
    if (known) return known;
    const asked = ask();
    known = asked;
    asked.catch(() => {
      if (known === asked) known = null;
    });
    return asked;
  };
}
