import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TidelineError } from '../../src/domain/errors.js';
import { createDetailCache } from '../../src/feed/detail-cache.js';
import { createHydration, type HydrationDeps } from '../../src/feed/hydrate.js';
import { createLocalSources } from '../../src/feed/local-sources.js';
import type { Sources } from '../../src/feed/sources.js';
import { openDatabase, type Database, type Queryable } from '../../src/stores/database.js';
import { createTestDatabase } from '../harness/services.js';

const ID_MAX = 18446744073709551615n;
const viewer = { userId: 900n, isAdmin: false };
const page = Array.from({ length: 50 }, (_, i) => BigInt(i + 1));

let drop: () => Promise<void>;
let database: Database;
const asked: string[] = [];
let counted: Queryable;

beforeAll(async () => {
  const test = await createTestDatabase();
  database = openDatabase({ url: test.databaseUrl, poolSize: 2, onError: () => undefined });
  drop = () => test.drop();
  counted = {
    query: ((query: { name: string }) => {
      asked.push(query.name);
      return database.pool.query(query as never);
    }) as unknown as Queryable['query'],
  };
  await database.pool.query(`
    INSERT INTO users (id, handle, display_name, avatar_url, follower_count)
      SELECT 900 + i, 'user_' || i, 'User ' || i, NULL, CASE WHEN i = 1 THEN 100 ELSE 0 END FROM generate_series(0, 5) i;
    INSERT INTO users (id, handle, display_name, has_pulled_contents) VALUES (${ID_MAX}, 'greatest', 'Greatest', true);
    INSERT INTO contents (id, author_id, publish_time, text, repost_of)
      SELECT i, 901 + i % 5, 1000 + i, 'Post ' || i, CASE WHEN i = 2 THEN 1 END FROM generate_series(1, 1500) i;
    INSERT INTO contents (id, author_id, publish_time, text, media, visibility) VALUES
      (${ID_MAX}, ${ID_MAX}, 281474976710655, 'The last', '[{"url":"https://example.org/a.png","kind":"IMAGE"}]', 'FOLLOWERS');
    INSERT INTO contents (id, author_id, publish_time, text, deleted_at) VALUES (5000, 901, 1, 'Gone', now());
    INSERT INTO content_counters (content_id, likes, comments) VALUES (1, 7, 3);
    INSERT INTO reactions (content_id, user_id, kind, active, version) VALUES
      (1, 900, 'LIKE', true, 1), (2, 900, 'LIKE', false, 2), (3, 900, 'FAVORITE', true, 1), (4, 901, 'LIKE', true, 1)`);
});

afterAll(async () => {
  await database.close();
  await drop();
});

function hydrate(overrides: Partial<HydrationDeps> = {}, as: typeof viewer | null = viewer) {
  asked.length = 0;
  return createHydration({ sources: createLocalSources(counted), timeoutMs: 5_000, ...overrides }, { viewer: as });
}

async function loadPage(hydration: ReturnType<typeof hydrate>, ids: readonly bigint[]) {
  return Promise.all(
    ids.map(async (id) => {
      const content = hydration.contents.load(id);
      const [details, author, counters, liked] = await Promise.all([
        content,
        content.then((found) => found && hydration.users.load(found.authorId!)),
        hydration.counters.load(id),
        hydration.viewerLikes.load(id),
      ]);
      return { details, author, counters, liked };
    }),
  );
}

describe('hydration', () => {
  it('costs one lookup per source for a page of 50, and none for a page seen before', async () => {
    const batches: [string, number][] = [];
    const hydration = hydrate({ metrics: { observeBatch: (source, size) => batches.push([source, size]) } });
    const posts = await loadPage(hydration, page);
    expect(posts.map((post) => post.details?.text)).toEqual(page.map((id) => `Post ${id}`));
    expect([...asked].sort()).toEqual(['hydrate_contents', 'hydrate_counters', 'hydrate_liked', 'hydrate_users']);
    expect(batches.sort()).toEqual([
      ['content', 50],
      ['counter', 50],
      ['like', 50],
      ['user', 5],
    ]);
    await loadPage(hydration, page);
    expect(asked).toHaveLength(4);
  });

  it('costs the same through the cache, and asks for cached contents not at all', async () => {
    const cache = createDetailCache({ maxBytes: 1e6, ttlMs: 60_000, clock: Date.now });
    await loadPage(hydrate({ cache }), page);
    expect(asked).toHaveLength(4);
    const batches: Record<string, number> = {};
    const metrics = { observeBatch: (source: string, size: number) => void (batches[source] = size) };
    const posts = await loadPage(hydrate({ cache, metrics }), page);
    expect(posts.map((post) => post.author?.userId)).toEqual(page.map((id) => 901n + (id % 5n)));
    expect(batches).toEqual({ counter: 50, like: 50 });
  });

  it('reads ids, media and absent rows as they are', async () => {
    const hydration = hydrate();
    expect(await hydration.contents.load(ID_MAX)).toMatchObject({
      contentId: ID_MAX,
      authorId: ID_MAX,
      publishTime: 281474976710655,
      media: [{ url: 'https://example.org/a.png', kind: 'IMAGE', width: null, height: null, altText: null }],
      visibility: 'FOLLOWERS',
      repostOf: null,
    });
    expect(await hydration.contents.load(2n)).toMatchObject({ repostOf: 1n });
    expect(await hydration.contents.load(5000n)).toBeNull();
    expect(await hydration.contents.load(9999n)).toBeNull();
    expect(await hydration.users.load(9999n)).toBeNull();
    expect(await hydration.counters.load(1n)).toEqual({ likes: 7, comments: 3, reposts: 0, favorites: 0 });
    expect(await hydration.counters.load(2n)).toEqual({ likes: 0, comments: 0, reposts: 0, favorites: 0 });
    expect(await Promise.all([1n, 2n, 3n, 4n].map((id) => hydration.viewerLikes.load(id)))).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  it('says without a viewer that nothing is liked, and asks nobody', async () => {
    expect(await hydrate({}, null).viewerLikes.load(1n)).toBe(false);
    expect(asked).toEqual([]);
  });

  it('never asks a source for more than 1,000 ids at once', async () => {
    const sizes: number[] = [];
    const hydration = hydrate({ metrics: { observeBatch: (_, size) => sizes.push(size) } });
    await Promise.all(Array.from({ length: 1500 }, (_, i) => hydration.contents.load(BigInt(i + 1))));
    expect(sizes).toEqual([1000, 500]);
  });

  it('loses the fields of a source that times out, not the page', async () => {
    const local = createLocalSources(counted);
    const signals: AbortSignal[] = [];
    const silent = (_: unknown, signal: AbortSignal) => (signals.push(signal), new Promise<never>(() => undefined));
    const sources: Sources = { ...local, counters: { ...local.counters, findCounters: silent } };
    const hydration = hydrate({ sources, timeoutMs: 200 });
    const results = await Promise.allSettled(page.map((id) => hydration.counters.load(id)));
    const [first] = results.map((result) => (result.status === 'rejected' ? (result.reason as TidelineError) : null));
    expect(results.every((result) => result.status === 'rejected')).toBe(true);
    expect(first).toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: 'The counter service cannot be reached.' });
    expect(first?.cause).toEqual(new Error('no answer within 200 ms'));
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
    expect(await hydration.contents.load(1n)).toMatchObject({ text: 'Post 1' });
    expect(await hydration.users.load(901n)).toMatchObject({ handle: 'user_1' });
    expect(await hydration.viewerLikes.load(1n)).toBe(true);
  });

  it('keeps the cause of a failure, asks again in the next request and holds no failure', async () => {
    const local = createLocalSources(counted);
    const cache = createDetailCache({ maxBytes: 1e6, ttlMs: 60_000, clock: Date.now });
    const cause = new Error('connect ECONNREFUSED 10.0.0.7');
    const sources: Sources = { ...local, contents: { findContents: () => Promise.reject(cause) } };
    const failure = await hydrate({ sources, cache })
      .contents.load(1n)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TidelineError);
    expect(failure).toMatchObject({ message: 'The content service cannot be reached.', cause });
    expect(await hydrate({ cache }).contents.load(1n)).toMatchObject({ text: 'Post 1' });
  });
});
