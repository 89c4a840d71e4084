import type { Entry } from '../../domain/entry.js';
import { encodeFloor as encodeTextFloor } from '../../domain/inbox-head.js';
import type { RedisClient } from '../redis.js';
import { createKeys, type KeySpace } from './keys.js';
import { encodeFloor as encodePackedFloor } from './packed-codec.js';
import { defineScripts } from './scripts.js';
import type { InboxUpkeep } from './upkeep.js';

/** On a cluster it would list one node's keys only. */
export function createRedisUpkeep(
  deps: KeySpace & { readonly redis: RedisClient; readonly layout: 'zset' | 'packed' },
): InboxUpkeep {
  const { redis } = deps;
  const keys = createKeys(deps);
  const scripts = defineScripts(redis, deps.layout, ['trim-older']);
  const encodeFloor = (floor: Entry) => (deps.layout === 'zset' ? encodeTextFloor(floor) : encodePackedFloor(floor));
  const pattern = `${deps.keyPrefix}:{i*}:${deps.kind}:*`;

  return {
    async list(position, limit) {
      const [next, found] = await redis.scan(position || '0', 'MATCH', pattern, 'COUNT', limit);
      const userIds = found.flatMap((key) => {
        const id = /:(\d{1,20})$/.exec(key)?.[1];
        return id === undefined ? [] : [BigInt(id)];
      });
      return { userIds, position: next === '0' ? null : next };
    },

    async trimOlder(userIds, time) {
      const args = [time, encodeFloor({ publishTime: time, contentId: 0n })];
      let dropped = 0;
      for (const batch of keys.batch(userIds, KEYS_PER_CALL)) {
        dropped += (await scripts['trim-older'](batch, args)) as number;
      }
      return dropped;
    },
  };
}

/** Few, since an inbox that is trimmed may be written as a whole: a call must not keep readers waiting. */
const KEYS_PER_CALL = 20;
