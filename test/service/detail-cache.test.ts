import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { createDetailCache, type DetailCache } from '../../src/feed/detail-cache.js';
import type { ContentDetails } from '../../src/feed/sources.js';
import {
  contentKey,
  INVALIDATE_ALL,
  publishInvalidation,
  subscribeInvalidations,
  userKey,
} from '../../src/stores/invalidations.js';
import { openRedis } from '../../src/stores/redis.js';
import { startTestRedis } from '../harness/services.js';

const ID = 42n;
const content = (text: string, contentId = ID): ContentDetails => ({
  contentId,
  authorId: 1n,
  publishTime: 1,
  text,
  media: [],
  visibility: 'PUBLIC',
  repostOf: null,
});
const textOf = (outcomes: unknown[]) => (outcomes[0] as ContentDetails).text;

/** A source whose answers the test gives by hand. */
function createSource() {
  const waiting: ((text: string) => void)[] = [];
  const find = (ids: readonly bigint[]) =>
    new Promise<Map<bigint, ContentDetails>>((resolve) => {
      waiting.push((text) => resolve(new Map(ids.map((id) => [id, content(text, id)]))));
    });
  return { find, waiting, answer: (text: string) => waiting.splice(0).forEach((resolve) => resolve(text)) };
}
const finds = (value: ContentDetails) => {
  const find = () => (find.count++, Promise.resolve(new Map([[value.contentId, value]])));
  find.count = 0;
  return find;
};

let now = 1_000_000;
const createCache = (maxBytes = 1_000_000) => createDetailCache({ maxBytes, ttlMs: 60_000, clock: () => now });

describe('the detail cache', () => {
  it('makes one refresh of a hundred concurrent misses', async () => {
    const cache = createCache();
    const source = createSource();
    const loads = Array.from({ length: 100 }, () => cache.contents.load([ID], source.find));
    expect(source.waiting).toHaveLength(1);
    source.answer('one');
    expect((await Promise.all(loads)).map(textOf)).toEqual(Array(100).fill('one'));
    expect(textOf(await cache.contents.load([ID], source.find))).toBe('one');
    expect(source.waiting).toHaveLength(0);
  });

  it('asks only for what nobody else is asking for', async () => {
    const cache = createCache();
    const [first, second] = [createSource(), createSource()];
    const asked: (readonly bigint[])[] = [];
    const a = cache.contents.load([1n, 2n], first.find);
    const b = cache.contents.load([2n, 3n], (ids) => (asked.push(ids), second.find(ids)));
    expect(asked).toEqual([[3n]]);
    first.answer('first');
    second.answer('second');
    expect((await b).map((outcome) => (outcome as ContentDetails).text)).toEqual(['first', 'second']);
    await a;
  });

  it('keeps the stale value out when an invalidation comes during a refresh', async () => {
    const cache = createCache();
    const [before, after] = [createSource(), createSource()];
    const early = cache.contents.load([ID], before.find);
    cache.invalidate(contentKey(ID));
    const late = cache.contents.load([ID], after.find);
    after.answer('new');
    expect(textOf(await late)).toBe('new');
    before.answer('old');
    expect(textOf(await early)).toBe('old');
    expect(textOf(await cache.contents.load([ID], before.find))).toBe('new');
  });

  it('keeps the stale value out when everything is dropped during a refresh', async () => {
    const cache = createCache();
    const before = createSource();
    const early = cache.contents.load([ID], before.find);
    cache.clear();
    before.answer('old');
    await early;
    expect(cache.bytes).toBe(0);
  });

  it('looks a value up again when its time is over', async () => {
    const cache = createCache();
    const find = finds(content('text'));
    await cache.contents.load([ID], find);
    now += 59_999;
    await cache.contents.load([ID], find);
    expect(find.count).toBe(1);
    now += 2;
    await cache.contents.load([ID], find);
    expect(find.count).toBe(2);
  });

  it('stays within its bytes, dropping what was used least recently', async () => {
    const cache = createCache(100_000);
    const load = (id: bigint, length: number) => cache.contents.load([id], finds(content('x'.repeat(length), id)));
    for (let id = 1n; id <= 200n; id++) {
      await load(id, 1_000);
      expect(cache.bytes).toBeLessThanOrEqual(100_000);
    }
    expect(cache.bytes).toBeGreaterThan(90_000);
    await load(1_000n, 60_000); // 120 KB: more than the whole cache.
    expect(cache.bytes).toBeLessThanOrEqual(100_000);
    const find = finds(content('again', 200n));
    await cache.contents.load([200n], find);
    expect(find.count).toBe(0);
  });

  it('holds nothing with 0 bytes, and answers', async () => {
    const cache = createCache(0);
    expect(textOf(await cache.contents.load([ID], finds(content('text'))))).toBe('text');
    expect(cache.bytes).toBe(0);
  });

  it('does not hold a failure: everyone who waited fails, the next one asks again', async () => {
    const cache = createCache();
    const failing = () => Promise.reject(new Error('down'));
    const both = await Promise.all([cache.contents.load([ID], failing), cache.contents.load([ID], failing)]);
    expect(both).toEqual([[new Error('down')], [new Error('down')]]);
    expect(textOf(await cache.contents.load([ID], finds(content('up'))))).toBe('up');
  });
});

describe('invalidation across processes', () => {
  let url: string;
  let stop: () => Promise<void>;
  let publisher: Redis;
  const clients: Redis[] = [];
  const connect = async (options = {}) => {
    const client = openRedis({ url, timeoutMs: 5_000, onError: () => undefined }, options);
    clients.push(client);
    await client.connect();
    return client;
  };

  beforeAll(async () => {
    const redis = await startTestRedis();
    url = redis.redisUrl;
    stop = () => redis.stop();
  });
  afterAll(() => stop());
  beforeEach(async () => {
    publisher = await connect();
  });
  afterEach(() => {
    for (const client of clients.splice(0)) client.disconnect();
  });

  /** What one process has: a cache and a subscriber of its own. `next()` resolves at its next event. */
  async function startProcess() {
    const cache = createCache();
    const subscriber = await connect({ enableOfflineQueue: true, maxRetriesPerRequest: null });
    const waiters: ((event: string) => void)[] = [];
    const next = () => new Promise<string>((resolve) => waiters.push(resolve));
    const happened = (event: string) => waiters.splice(0).forEach((resolve) => resolve(event));
    const subscribed = next();
    subscribeInvalidations(subscriber, 'test', {
      onInvalidate(key) {
        cache.invalidate(key);
        happened(key);
      },
      onReset() {
        cache.clear();
        happened('reset');
      },
      onError: happened,
    });
    expect(await subscribed).toBe('reset');
    return { cache, next };
  }
  const textIn = async (cache: DetailCache, text: string) =>
    textOf(await cache.contents.load([ID], finds(content(text))));

  it('shows a change made in one process to another', async () => {
    const [here, there] = [await startProcess(), await startProcess()];
    await textIn(here.cache, 'old');
    await textIn(there.cache, 'old');
    const heard = Promise.all([here.next(), there.next()]);
    await publishInvalidation(publisher, 'test', contentKey(ID));
    expect(await heard).toEqual(['content:42', 'content:42']);
    expect(await textIn(here.cache, 'new')).toBe('new');
    expect(await textIn(there.cache, 'new')).toBe('new');
  });

  it('hears only its own prefix, and well-formed keys', async () => {
    const here = await startProcess();
    const heard = here.next();
    await publishInvalidation(publisher, 'other', contentKey(ID));
    await publisher.publish('test:invalidate', 'content:x');
    await publishInvalidation(publisher, 'test', userKey(7n));
    expect(await heard).toBe('user:7');
  });

  it('drops everything when told that too much changed to name it', async () => {
    const here = await startProcess();
    await textIn(here.cache, 'old');
    const heard = here.next();
    await publishInvalidation(publisher, 'test', INVALIDATE_ALL);
    expect(await heard).toBe('reset');
    expect(await textIn(here.cache, 'new')).toBe('new');
  });

  it('drops everything after the subscriber lost its connection, as messages may have been missed', async () => {
    const here = await startProcess();
    await textIn(here.cache, 'old');
    const back = here.next();
    await publisher.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await publishInvalidation(publisher, 'test', contentKey(ID));
    expect(await back).toBe('reset');
    expect(await textIn(here.cache, 'new')).toBe('new');
  });
});
