import { readFileSync } from 'node:fs';
import type { RedisClient } from '../redis.js';
import type { InboxUpkeep } from './upkeep.js';

/**
 * For any store with one key per user, `PREFIX:{iBUCKET}:KIND:USER_ID`. On a cluster it would list one node's keys only.
 * @param deps.isSortedSet other values are not trimmed by age; their cap bounds them
 */
export function createRedisUpkeep(deps: {
  readonly redis: RedisClient;
  readonly keyPrefix: string;
  readonly kind: 'inbox' | 'outbox';
  readonly isSortedSet: boolean;
}): InboxUpkeep {
  const { redis } = deps;
  const keys = new RegExp(`^${escape(deps.keyPrefix)}:\\{i\\d+\\}:${deps.kind}:(\\d{1,20})$`);
  const pattern = `${escapeGlob(deps.keyPrefix)}:{i*}:${deps.kind}:*`;
  /** By owner, as listed last: where a key lies is the store's business. */
  const listed = new Map<bigint, string>();
  redis.defineCommand(COMMAND, { lua: SCRIPT });

  return {
    async list(position, limit) {
      const [next, found] = await redis.scan(position || '0', 'MATCH', pattern, 'COUNT', limit);
      listed.clear();
      for (const key of found) {
        const id = keys.exec(key)?.[1];
        if (id !== undefined) listed.set(BigInt(id), key);
      }
      return { userIds: [...listed.keys()], position: next === '0' ? null : next };
    },

    async trimOlder(userIds, time) {
      if (!deps.isSortedSet) return 0;
      const commands = redis as unknown as Record<typeof COMMAND, (...args: unknown[]) => Promise<number>>;
      const own = userIds.flatMap((id) => listed.get(id) ?? []);
      // One key a call: these need not share a slot. Written before the first answer is waited for.
      const dropped = await Promise.all(own.map((key) => commands[COMMAND](1, key, time)));
      return dropped.reduce((sum, n) => sum + n, 0);
    },
  };
}

const COMMAND = 'inboxTrimOlder';
const SCRIPT = readFileSync(new URL('./lua/trim-older.lua', import.meta.url), 'utf8');

const escape = (text: string): string => text.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&');
const escapeGlob = (text: string): string => text.replace(/[*?[\\\]]/g, '\\$&');
