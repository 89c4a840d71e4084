import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { createPackedInboxStore } from '../../../src/stores/inbox/redis-packed.js';
import { createZsetInboxStore } from '../../../src/stores/inbox/redis-zset.js';
import { openTestStores, type TestStores } from '../../harness/stores.js';

// A cluster refuses a command whose keys lie in two slots, and the slot is the hash of what stands between the braces.

let stores: TestStores;
beforeAll(async () => {
  stores = await openTestStores();
});
afterAll(() => stores.close());

const READERS = Array.from({ length: 1_000 }, (_, i) => 2n ** 40n + BigInt(i));
const slotsOf = (keys: readonly string[]) => new Set(keys.map((key) => /\{(.+?)\}/.exec(key)?.[1] ?? key));

test.each(['packed inbox', 'inbox', 'outbox'] as const)(
  'the keys of one call for %ses share a hash tag, and no call blocks Redis for long',
  async (kind) => {
    const deps = { redis: stores.redis, keyPrefix: 'tl', maxEntries: 10, buckets: 16 };
    const store = kind === 'packed inbox' ? createPackedInboxStore(deps) : createZsetInboxStore({ ...deps, kind });
    const commands = jest.spyOn(stores.redis, 'sendCommand');
    try {
      for (const reader of READERS.slice(0, 100)) await store.begin(reader, 'a1');
      commands.mockClear();
      expect(await store.insert(READERS, { publishTime: 1, contentId: 1n })).toEqual({ delivered: 100, absent: 900 });
      await store.drop(READERS);
      const calls = commands.mock.calls.map(([command]) => command.getKeys().map(String));
      for (const keys of calls) {
        expect(keys.length).toBeLessThanOrEqual(100);
        expect(slotsOf(keys).size).toBe(1);
      }
      // Both calls reach each reader once, and the tags are many: the load spreads over the cluster.
      const keys = calls.flat().sort();
      expect(keys.filter((key, i) => key === keys[i + 1])).toHaveLength(READERS.length);
      expect(keys).toHaveLength(2 * READERS.length);
      expect(slotsOf(keys).size).toBe(16);
    } finally {
      commands.mockRestore();
    }
  },
);
