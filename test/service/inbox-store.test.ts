import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { compareEntries, ENTRY_MIN, ENTRY_TOP, type Direction, type Entry } from '../../src/domain/entry.js';
import type { InboxFill, InboxStore } from '../../src/stores/inbox/inbox-store.js';
import { createPostgresInboxStore } from '../../src/stores/inbox/postgres.js';
import { createPackedInboxStore } from '../../src/stores/inbox/redis-packed.js';
import { createZsetInboxStore } from '../../src/stores/inbox/redis-zset.js';
import { openTestStores, type TestStores } from '../harness/stores.js';

const CAP = 8;
const READER = 111n;
const SEQS = { epoch: 1n, followSeq: 1n, activeSeq: 1n, awakeSeq: 1n };

let stores: TestStores;
beforeAll(async () => {
  stores = await openTestStores();
});
afterAll(() => stores.close());

const createZset = (maxEntries: number) =>
  createZsetInboxStore({ redis: stores.redis, keyPrefix: 'test', buckets: 4, maxEntries });
const createPacked = (maxEntries: number, onDamaged?: (count: number) => void) =>
  createPackedInboxStore({
    redis: stores.redis,
    keyPrefix: 'test',
    buckets: 4,
    maxEntries,
    ...(onDamaged ? { onDamaged } : {}),
  });
const createPostgres = (maxEntries: number) => createPostgresInboxStore({ pool: stores.pool, maxEntries });

describe.each([
  ['redis-packed', createPacked],
  ['redis-zset', createZset],
  ['postgres', createPostgres],
])('an inbox in %s', (_, create: (maxEntries: number) => InboxStore) => {
  let inbox: InboxStore;
  beforeEach(async () => {
    inbox = create(CAP);
    await inbox.drop([READER, 112n, 113n]);
  });

  const entry = (publishTime: number, contentId: bigint | number = publishTime): Entry => ({
    publishTime,
    contentId: BigInt(contentId),
  });
  const filled = (entries: Entry[], floor: Entry = ENTRY_MIN): InboxFill => ({
    ...SEQS,
    entries,
    allFloor: floor,
    activeFloor: floor,
  });
  const idsOf = (entries: readonly Entry[]): bigint[] => entries.map(({ contentId }) => contentId);
  async function begin(entries: Entry[] = [], floor?: Entry): Promise<void> {
    await inbox.begin(READER, 'a1');
    expect(await inbox.fill(READER, 'a1', filled(entries, floor))).toBe(true);
  }
  const readAll = async () => inbox.read(READER, { from: null, direction: 'older', limit: 10_000 });

  test('is not created by a push', async () => {
    expect(await inbox.insert([READER, 112n], entry(5))).toEqual({ delivered: 0, absent: 2 });
    expect(await readAll()).toEqual({ head: null, entries: [] });
  });

  test('takes pushes from the moment a rebuild begins, and is complete nowhere until it is filled', async () => {
    await inbox.begin(READER, 'a1');
    expect(await inbox.insert([READER, 112n], entry(5))).toEqual({ delivered: 1, absent: 1 });
    expect(await readAll()).toMatchObject({
      head: { allFloor: ENTRY_TOP, activeFloor: ENTRY_TOP },
      entries: [entry(5)],
    });
  });

  test('holds an entry once, however often it is delivered', async () => {
    await begin([entry(5)]);
    for (let i = 0; i < 3; i += 1)
      await Promise.all([inbox.insert([READER], entry(5)), inbox.insert([READER], entry(6))]);
    expect(idsOf((await readAll()).entries)).toEqual([6n, 5n]);
  });

  test('puts a late entry at its publish time', async () => {
    await begin([entry(10), entry(30)]);
    await inbox.insert([READER], entry(20));
    expect(idsOf((await readAll()).entries)).toEqual([30n, 20n, 10n]);
  });

  test('keeps ids above 2^53 and 2^63 exact and in numeric order', async () => {
    const ids = [9n, 10n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n];
    await begin();
    for (const id of ids) await inbox.insert([READER], entry(7, id));
    expect(idsOf((await readAll()).entries)).toEqual([...ids].reverse());
  });

  test('trims to the cap and raises the floors to the oldest entry kept, in the same step', async () => {
    await begin([1, 2, 3, 4, 5, 6, 7].map((t) => entry(t)));
    for (const time of [8, 9, 10]) await inbox.insert([READER], entry(time));
    const { head, entries } = await readAll();
    expect(idsOf(entries)).toEqual([10n, 9n, 8n, 7n, 6n, 5n, 4n, 3n]);
    expect(head).toMatchObject({ allFloor: entry(3), activeFloor: entry(3), trimFloor: entry(3) });
  });

  test('refuses the fill of a rebuild that another one has overtaken, and of an inbox that was lost', async () => {
    await inbox.begin(READER, 'a1');
    await inbox.begin(READER, 'b2');
    expect(await inbox.fill(READER, 'a1', filled([entry(1)]))).toBe(false);
    await inbox.drop([READER]);
    expect(await inbox.fill(READER, 'b2', filled([entry(1)]))).toBe(false);
    expect((await readAll()).head).toBeNull();
  });

  test('does not let a fill lower a floor below what was trimmed since the rebuild began', async () => {
    await inbox.begin(READER, 'a1');
    for (let time = 1; time <= CAP + 2; time += 1) await inbox.insert([READER], entry(time));
    await inbox.remove(READER, [entry(9), entry(10)], null);
    expect(await inbox.fill(READER, 'a1', filled([]))).toBe(true);
    expect((await readAll()).head).toMatchObject({ allFloor: entry(3), activeFloor: entry(3) });
  });

  test('removes entries only while it covers the follows that were looked at', async () => {
    await begin([entry(1), entry(2), entry(3)]);
    await inbox.remove(READER, [entry(1)], 2n);
    await inbox.remove(READER, [entry(2)], 1n);
    await inbox.remove(READER, [entry(3)], null);
    expect(idsOf((await readAll()).entries)).toEqual([1n]);
  });

  test('begins and ends a page exactly at the cursor, whether or not the cursor is still there, among 3,000 ties', async () => {
    inbox = create(10_000);
    const ties = Array.from({ length: 3_000 }, (_, i) => entry(50, 2n ** 60n + 2n * BigInt(i)));
    await begin([entry(40), ...ties, entry(60)]);
    const order = [entry(40), ...ties, entry(60)].sort(compareEntries);
    for (const from of [
      ties[1500] as Entry,
      entry(50, 2n ** 60n + 3001n),
      entry(50, 1n),
      entry(45),
      entry(60),
      entry(99),
    ]) {
      const older = order.filter((it) => compareEntries(it, from) > 0).slice(0, 5);
      const newer = order
        .filter((it) => compareEntries(it, from) < 0)
        .slice(-5)
        .reverse();
      expect((await inbox.read(READER, { from, direction: 'older', limit: 5 })).entries).toEqual(older);
      expect((await inbox.read(READER, { from, direction: 'newer', limit: 5 })).entries).toEqual(newer);
    }
  });

  test('gives the pages of the published example with equal times', async () => {
    const vector = JSON.parse(readFileSync(new URL('../fixtures/inbox-ties.json', import.meta.url), 'utf8')) as {
      entries: [string, number][];
      pages: string[][];
    };
    inbox = create(1000);
    await begin();
    for (const [id, seconds] of vector.entries) await inbox.insert([READER], entry(seconds * 1000, BigInt(id)));
    const pages: string[][] = [];
    for (let from: Entry | null = null; ;) {
      const { entries } = await inbox.read(READER, { from, direction: 'older', limit: 3 });
      if (entries.length === 0) break;
      pages.push(entries.map(({ contentId }) => String(contentId)));
      from = entries.at(-1) as Entry;
    }
    expect(pages).toEqual(vector.pages);
  });

  test('delivers one entry to many readers at once, also from two batches that overlap in opposite order', async () => {
    const readers = Array.from({ length: 300 }, (_, i) => BigInt(1_000 + i));
    await Promise.all(readers.map((reader) => inbox.begin(reader, 'a1')));
    const results = await Promise.all([
      inbox.insert(readers, entry(5)),
      inbox.insert([...readers].reverse(), entry(6)),
    ]);
    expect(results.map(({ delivered }) => delivered)).toEqual([300, 300]);
    expect((await inbox.read(1_299n, { from: null, direction: 'older', limit: 9 })).entries).toEqual([
      entry(6),
      entry(5),
    ]);
    await inbox.drop(readers);
  });

  test('behaves like a sorted list that is cut off at its cap, under any sequence of deliveries and removals', async () => {
    const anyEntry = fc.record({
      publishTime: fc.integer({ min: 1, max: 6 }),
      contentId: fc.bigInt({ min: 0n, max: 20n }),
    });
    const step = fc.oneof(
      fc.record({ op: fc.constant('insert' as const), at: anyEntry }),
      fc.record({ op: fc.constant('remove' as const), at: anyEntry }),
      fc.record({
        op: fc.constant('read' as const),
        at: fc.option(anyEntry),
        direction: fc.constantFrom<Direction>('older', 'newer'),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        await inbox.drop([READER]);
        await begin();
        let model: Entry[] = [];
        for (const it of steps) {
          if (it.op === 'insert') {
            // In a feed an id has one publish time.
            if (model.some(({ contentId }) => contentId === it.at.contentId)) continue;
            await inbox.insert([READER], it.at);
            model = [...model, it.at].sort(compareEntries).slice(0, CAP);
          } else if (it.op === 'remove') {
            const isSame = (other: Entry) => compareEntries(other, it.at) === 0;
            if (!model.some(isSame)) continue;
            await inbox.remove(READER, [it.at], null);
            model = model.filter((other) => !isSame(other));
          } else {
            const from = it.at ?? null;
            if (from === null && it.direction === 'newer') continue;
            const { entries } = await inbox.read(READER, { from, direction: it.direction, limit: 3 });
            const rest = model.filter((other) => {
              const order = from ? compareEntries(other, from) : 1;
              return it.direction === 'older' ? order > 0 : order < 0;
            });
            expect(entries).toEqual(it.direction === 'older' ? rest.slice(0, 3) : rest.slice(-3).reverse());
          }
        }
      }),
      { numRuns: 40, seed: 1 },
    );
  });
});

test('a Redis value that is no inbox counts as missing, is passed by, and is replaced by the next rebuild', async () => {
  const inbox = createZset(CAP);
  const [key] = await (async () => {
    await inbox.begin(READER, 'a1');
    return stores.redis.keys('test:*:inbox:111');
  })();
  for (const spoil of [() => stores.redis.set(key as string, 'x'), () => stores.redis.zadd(key as string, 5, 'x')]) {
    await stores.redis.del(key as string);
    await spoil();
    expect(await inbox.insert([READER], { publishTime: 1, contentId: 1n })).toEqual({ delivered: 0, absent: 1 });
    expect((await inbox.read(READER, { from: null, direction: 'older', limit: 5 })).head).toBeNull();
    await inbox.begin(READER, 'a2');
    expect((await inbox.read(READER, { from: null, direction: 'older', limit: 5 })).head?.nonce).toBe('a2');
  }
});

test('inbox keys never expire', async () => {
  const inbox = createZset(CAP);
  await inbox.begin(READER, 'a1');
  for (const key of await stores.redis.keys('test:*')) expect(await stores.redis.ttl(key)).toBe(-1);
});

test('a page from Postgres is an index-only backward scan of idx_feed', async () => {
  await stores.pool.query(
    'INSERT INTO inbox SELECT u, t, t FROM generate_series(1, 20) u, generate_series(1, 500) t ON CONFLICT DO NOTHING',
  );
  await stores.pool.query('VACUUM ANALYZE inbox');
  const { rows } = await stores.pool.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN SELECT publish_time, content_id FROM inbox
     WHERE user_id = 7 AND (publish_time, content_id) < (250::bigint, 250::numeric)
     ORDER BY publish_time DESC, content_id DESC LIMIT 20`,
  );
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toMatch(/Index Only Scan Backward using inbox_p\d\d_pkey/);
  expect(plan).toMatch(/Index Cond:.*ROW\(publish_time, content_id\) < ROW/);
  expect(plan).not.toMatch(/Sort|Filter/);
});
