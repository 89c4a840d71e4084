import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ENTRY_MIN, type Entry, type Walk } from '../../src/domain/entry.js';
import type { InboxFill } from '../../src/stores/inbox/inbox-store.js';
import { createPackedInboxStore } from '../../src/stores/inbox/redis-packed.js';
import { createZsetInboxStore } from '../../src/stores/inbox/redis-zset.js';
import { openTestStores, type TestStores } from '../harness/stores.js';

const READER = 111n;
const KEY = 'test:{i0}:inbox:111';
const FIRST: Walk = { from: null, direction: 'older', limit: 10_000 };
const SEQS = { epoch: 1n, followSeq: 1n, activeSeq: 1n, awakeSeq: 1n };

let stores: TestStores;
let damaged = 0;
beforeAll(async () => {
  stores = await openTestStores();
});
afterAll(() => stores.close());
beforeEach(async () => {
  await stores.redis.flushall();
  damaged = 0;
});

const createPacked = (maxEntries: number) =>
  createPackedInboxStore({
    ...{ redis: stores.redis, keyPrefix: 'test', buckets: 1, maxEntries },
    onDamaged: (count) => (damaged += count),
  });
const at = (publishTime: number): Entry => ({ publishTime, contentId: 2n ** 64n - 1n - BigInt(publishTime) });
const times = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => at(from + i));
const fillOf = (entries: readonly Entry[], floor: Entry = ENTRY_MIN): InboxFill => ({
  ...SEQS,
  entries,
  allFloor: floor,
  activeFloor: floor,
});

test('answers like a sorted set, heads and pages, under any sequence of everything that happens to an inbox', async () => {
  const time = fc.integer({ min: 1, max: 60 });
  const step = fc.oneof(
    { weight: 12, arbitrary: fc.record({ op: fc.constant('insert' as const), time }) },
    { weight: 2, arbitrary: fc.record({ op: fc.constant('burst' as const), time, n: fc.nat({ max: 30 }) }) },
    {
      weight: 3,
      arbitrary: fc.record({ op: fc.constant('remove' as const), times: fc.array(time, { maxLength: 4 }) }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('begin' as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({ op: fc.constant('fill' as const), times: fc.uniqueArray(time), floor: time }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('cap' as const), cap: fc.constantFrom(5, 25) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 60 }), async (steps) => {
      const redis = stores.redis;
      const create = (maxEntries: number) => [
        createPacked(maxEntries),
        createZsetInboxStore({ redis, keyPrefix: 'other', buckets: 1, maxEntries }),
      ];
      let inboxes = create(25);
      let nonce = 10;
      let fresh = 100;
      for (const inbox of inboxes) await inbox.drop([READER]);
      for (const inbox of inboxes) await inbox.begin(READER, String(nonce));
      for (const it of steps) {
        if (it.op === 'cap') [inboxes, fresh] = [create(it.cap), fresh + 1];
        if (it.op === 'begin') nonce += 1;
        const results = await Promise.all(
          inboxes.map(async (inbox) => {
            // A lower cap takes effect with the next entry; one that is there already may or may not count as such.
            if (it.op === 'cap') await inbox.insert([READER], at(fresh));
            if (it.op === 'insert') await inbox.insert([READER], at(it.time));
            if (it.op === 'burst') for (const e of times(it.time, it.time + it.n)) await inbox.insert([READER], e);
            if (it.op === 'remove') await inbox.remove(READER, it.times.map(at), null);
            if (it.op === 'begin') await inbox.begin(READER, String(nonce));
            if (it.op === 'fill') await inbox.fill(READER, String(nonce), fillOf(it.times.map(at), at(it.floor)));
            const middle: Walk = { from: at(30), direction: 'older', limit: 4 };
            const walks: Walk[] = [FIRST, middle, { ...middle, direction: 'newer' }];
            return Promise.all(walks.map((walk) => inbox.read(READER, walk)));
          }),
        );
        expect(results[0]).toEqual(results[1]);
      }
      expect(damaged).toBe(0);
    }),
    { numRuns: 30, seed: 1 },
  );
});

test('late arrivals find their place far down a full inbox, and twice is once', async () => {
  const inbox = createPacked(1_000);
  await inbox.begin(READER, 'a1');
  const even = times(1, 2_001).filter(({ publishTime }) => publishTime % 2 === 0);
  await inbox.fill(READER, 'a1', fillOf(even));
  for (const late of [1_999, 1_901, 1_001, 1_301, 99, 1_001, 98, 1]) await inbox.insert([READER], at(late));
  const { entries } = await inbox.read(READER, FIRST);
  // Five newer ones pushed the five oldest out; an entry older than those is not kept.
  const wanted = [...even.map((it) => it.publishTime), 99, 1_001, 1_301, 1_901, 1_999].sort((a, b) => b - a);
  expect(entries.map((it) => it.publishTime)).toEqual(wanted.slice(0, 1_000));
});

test('a cap that was raised lets an entry below the trimmed ones in, and the floors stay above those', async () => {
  await createPacked(20).begin(READER, 'a1');
  await createPacked(20).fill(READER, 'a1', fillOf([]));
  for (const entry of times(101, 141)) await createPacked(20).insert([READER], entry);
  await createPacked(40).insert([READER], at(50));
  const { entries, head } = await createPacked(40).read(READER, FIRST);
  expect(entries.map((it) => it.publishTime)).toEqual(
    [...times(121, 141).reverse(), at(50)].map((it) => it.publishTime),
  );
  expect(head).toMatchObject({ allFloor: at(121), activeFloor: at(121), trimFloor: at(121) });
});

describe('growing by deliveries', () => {
  test('takes at most 20 bytes an entry at the cap, key and head included, and never more than a quarter above its records', async () => {
    const inbox = createPacked(1_000);
    await inbox.begin(READER, 'a1');
    for (let time = 1; time <= 1_300; time += 1) {
      await inbox.insert([READER], at(time));
      if (time % 50 !== 0) continue;
      const bytes = (await stores.redis.memory('USAGE', KEY)) as number;
      expect(bytes).toBeLessThanOrEqual(1.25 * (Math.min(time, 1_000) * 14 + 400));
      if (time >= 1_000) expect(bytes / 1_000).toBeLessThanOrEqual(20);
    }
    expect((await inbox.read(READER, FIRST)).entries).toHaveLength(1_000);
    // Room for 62 more than fit: records that moved at each 16th delivery took as long as the deliveries themselves.
    expect(await stores.redis.strlen(KEY)).toBeGreaterThanOrEqual(223 + 14 * 1_062 + 1);
  });

  test('shrinks to a lower cap', async () => {
    await createPacked(1_000).begin(READER, 'a1');
    await createPacked(1_000).fill(READER, 'a1', fillOf(times(1, 901)));
    const inbox = createPacked(100);
    for (const entry of times(1_000, 1_200)) await inbox.insert([READER], entry);
    expect(await stores.redis.strlen(KEY)).toBeLessThan(2_000);
    expect((await inbox.read(READER, FIRST)).entries.map((it) => it.publishTime)).toEqual(
      times(1_100, 1_200)
        .map((it) => it.publishTime)
        .reverse(),
    );
  });
});

describe('a value that cannot be relied on counts as missing and is told, is never delivered to, and is replaced', () => {
  const whole = async (): Promise<Buffer> => {
    const inbox = createPacked(40);
    await inbox.begin(READER, 'a1');
    await inbox.fill(READER, 'a1', fillOf(times(100, 140)));
    return (await stores.redis.getBuffer(KEY)) as Buffer;
  };
  const swapped = (bytes: Buffer): Buffer => {
    const [a, b] = [bytes.subarray(223 + 70, 223 + 84), bytes.subarray(223 + 84, 223 + 98)];
    return Buffer.concat([bytes.subarray(0, 223 + 70), b, a, bytes.subarray(223 + 98)]);
  };

  async function expectMissing(seen: { byPush: boolean } = { byPush: true }): Promise<void> {
    const inbox = createPacked(40);
    expect(await inbox.read(READER, FIRST)).toEqual({ head: null, entries: [] });
    expect(damaged).toBe(1);
    if (seen.byPush) {
      expect(await inbox.insert([READER], at(200))).toEqual({ delivered: 0, absent: 1 });
      expect(damaged).toBe(2);
      expect((await inbox.read(READER, FIRST)).head).toBeNull();
      expect(await inbox.fill(READER, 'a1', fillOf([at(1)]))).toBe(false);
    }
    await inbox.begin(READER, 'a2');
    expect(await inbox.fill(READER, 'a2', fillOf([at(5)]))).toBe(true);
    expect(await inbox.read(READER, FIRST)).toMatchObject({ head: { nonce: 'a2' }, entries: [at(5)] });
  }

  test.each([
    ['text', Buffer.from('a value of somebody else, longer than a head')],
    ['a short text', Buffer.from('x')],
    ['zeros', Buffer.alloc(800)],
  ])('%s', async (_, bytes) => {
    await stores.redis.set(KEY, bytes);
    await expectMissing();
  });

  test('another type', async () => {
    await stores.redis.zadd(KEY, 5, 'x');
    await expectMissing();
  });

  test('an inbox of a later version', async () => {
    const bytes = await whole();
    bytes[3] = 2;
    await stores.redis.set(KEY, bytes);
    await expectMissing();
  });

  test('more records than fit', async () => {
    const bytes = await whole();
    bytes.writeUInt32BE(60_000, 12);
    await stores.redis.set(KEY, bytes);
    await expectMissing();
  });

  test('an inbox that was cut, anywhere', async () => {
    const bytes = await whole();
    for (const length of [1, 17, 18, 60, 129, 130, 223, 224, 400, 223 + 14 * 39, bytes.length - 1]) {
      damaged = 0;
      await stores.redis.set(KEY, bytes.subarray(0, length));
      await expectMissing();
    }
  });

  test('records out of order', async () => {
    await stores.redis.set(KEY, swapped(await whole()));
    await expectMissing({ byPush: false });
  });

  test('a newest record that is older than the others', async () => {
    const bytes = await whole();
    bytes.writeUIntBE(1, 18, 6);
    await stores.redis.set(KEY, bytes);
    await expectMissing({ byPush: false });
  });
});
