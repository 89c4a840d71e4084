import type { Redis } from 'ioredis';
import { ENTRY_MIN, type Entry } from '../../src/domain/entry.js';
import type { InboxStore } from '../../src/stores/inbox/inbox-store.js';
import { createKeys } from '../../src/stores/inbox/keys.js';
import { createPackedInboxStore } from '../../src/stores/inbox/redis-packed.js';
import { createZsetInboxStore } from '../../src/stores/inbox/redis-zset.js';

/** One way to keep inboxes in Redis. */
export interface Layout {
  readonly name: string;
  /** Makes the inbox of one reader take deliveries. */
  readonly open: (userId: bigint) => Promise<void>;
  readonly keyOf: (userId: bigint) => string;
  readonly deliver: (userIds: readonly bigint[], entry: Entry) => Promise<unknown>;
  /** The newest 20. */
  readonly readPage: (userId: bigint) => Promise<unknown>;
}

const BUCKETS = 16;
const PAGE = { from: null, direction: 'older', limit: 20 } as const;
const NOTHING = {
  ...{ epoch: 1n, followSeq: 1n, activeSeq: 1n, awakeSeq: 1n, entries: [] },
  ...{ allFloor: ENTRY_MIN, activeFloor: ENTRY_MIN },
};

/** Ours, and what others do: a sorted set or a list, with one pipelined write and trim per follower. */
export function createLayouts(
  redis: Redis,
  maxEntries: number,
): Record<'packed' | 'zset' | 'classic' | 'list', Layout> {
  const settings = { redis, keyPrefix: 'packed', maxEntries, buckets: BUCKETS };
  const packed = createPackedInboxStore(settings);
  const zset = createZsetInboxStore({ ...settings, keyPrefix: 'zset' });
  return {
    packed: fromStore(packed, 'redis-packed', 'packed'),
    zset: fromStore(zset, 'redis-zset', 'zset'),
    classic: {
      name: 'sorted set, ZADD and trim pipelined',
      open: () => Promise.resolve(),
      keyOf: (userId) => `classic:${userId.toString()}`,
      deliver(userIds, { publishTime, contentId }) {
        const pipeline = redis.pipeline();
        const member = contentId.toString();
        for (const userId of userIds) {
          const key = `classic:${userId.toString()}`;
          pipeline.zadd(key, publishTime, member).zremrangebyrank(key, 0, -maxEntries - 1);
        }
        return pipeline.exec();
      },
      readPage: (userId) => redis.zrevrange(`classic:${userId.toString()}`, 0, PAGE.limit - 1, 'WITHSCORES'),
    },
    list: {
      name: 'list, LPUSH and LTRIM pipelined',
      open: () => Promise.resolve(),
      keyOf: (userId) => `list:${userId.toString()}`,
      deliver(userIds, { contentId }) {
        const pipeline = redis.pipeline();
        const member = contentId.toString();
        for (const userId of userIds) {
          const key = `list:${userId.toString()}`;
          pipeline.lpush(key, member).ltrim(key, 0, maxEntries - 1);
        }
        return pipeline.exec();
      },
      readPage: (userId) => redis.lrange(`list:${userId.toString()}`, 0, PAGE.limit - 1),
    },
  };
}

const fromStore = (store: InboxStore, name: string, keyPrefix: string): Layout => ({
  name,
  async open(userId) {
    await store.begin(userId, 'a1');
    await store.fill(userId, 'a1', NOTHING);
  },
  keyOf: (userId) => createKeys({ keyPrefix, buckets: BUCKETS, kind: 'inbox' }).of(userId),
  deliver: (userIds, entry) => store.insert(userIds, entry),
  readPage: (userId) => store.read(userId, PAGE),
});
