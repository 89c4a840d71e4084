import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { readFeed, type FeedDeps, type FeedPage } from '../../src/feed/feed.js';
import { capStandIns } from '../../src/feed/guards.js';
import { createFeed } from '../../src/wiring/feed.js';
import { oracleFeed } from '../harness/oracle.js';
import { startProxy, type Proxy } from '../harness/proxy.js';
import { createWorld, type World } from '../harness/world.js';

const READER = 2n;
const AUTHORS = [3n, 4n, 5n];

let world: World;
let feed: FeedDeps;
/** Straight to the database, for the oracle. */
let direct: pg.Pool;
let postgres: Proxy;
let redis: Proxy;

beforeAll(async () => {
  world = await createWorld({ REDIS_TIMEOUT_MS: '300' }, async (urls) => {
    [postgres, redis] = await Promise.all([startProxy(urls.DATABASE_URL), startProxy(urls.REDIS_URL)]);
    direct = new pg.Pool({ connectionString: urls.DATABASE_URL, max: 2 });
    return { DATABASE_URL: postgres.url, REDIS_URL: redis.url };
  });
});
afterAll(async () => {
  await direct.end();
  await world.close();
  await Promise.all([postgres.close(), redis.close()]);
});
beforeEach(async () => {
  await world.reset([1n, READER, ...AUTHORS]);
  for (const author of AUTHORS) await world.social.setFollow({ userId: READER, isAdmin: false }, author, true);
  for (const author of AUTHORS) {
    world.now.ms += 1;
    await world.social.publishContent({ userId: author, isAdmin: false }, { text: 'Good morning' });
  }
  // With the guards of the product, and without the harness's hands in between.
  feed = createFeed(world.app, undefined, { schedule: () => undefined });
  await world.read(READER, { first: 10 });
  await world.drain();
});

const read = (args = {}): Promise<FeedPage> => readFeed(feed, READER, { first: 10, ...args });
const idsOf = (page: FeedPage): bigint[] => page.edges.map((edge) => edge.contentId);
const oracle = async () => (await oracleFeed(direct, READER, world.now.ms)).map((entry) => entry.contentId);
const untilMended = async (isMended: () => Promise<boolean>): Promise<void> => {
  for (let tries = 0; tries < 200 && !(await isMended()); tries += 1) await new Promise((r) => setTimeout(r, 25));
};

describe('while Redis is away', () => {
  test('a page is pulled from Postgres and is complete, and after a few failures Redis is not waited for', async () => {
    redis.cut();
    try {
      for (let i = 0; i < 8; i += 1) {
        const page = await read();
        expect(idsOf(page)).toEqual(await oracle());
        expect(page).toMatchObject({ isComplete: true, emptyReason: null });
      }
      const started = performance.now();
      await read();
      // The timeout of a command is 300 ms; the open breaker does not wait for it.
      expect(performance.now() - started).toBeLessThan(250);
    } finally {
      redis.mend();
      await untilMended(async () => world.app.redis.ping().then(Boolean, () => false));
    }
    expect(idsOf(await read())).toEqual(await oracle());
  });

  test('a reader beyond the cap is told that not everything could be read, never that nothing is there', async () => {
    await world.loseInbox(READER);
    const standIn = capStandIns(1, 0);
    let finish = (): void => undefined;
    const other = standIn(() => new Promise<void>((resolve) => (finish = resolve)));
    const refused = await readFeed({ ...feed, standIn }, READER, { first: 10 });
    expect(refused).toMatchObject({ edges: [], isComplete: false, emptyReason: 'UNAVAILABLE' });
    finish();
    await other;
    expect(idsOf(await readFeed({ ...feed, standIn }, READER, { first: 10 }))).toEqual(await oracle());
  });
});

describe('while Postgres is away', () => {
  const away = async (work: () => Promise<void>): Promise<void> => {
    postgres.cut();
    try {
      await work();
    } finally {
      postgres.mend();
      await untilMended(async () => world.app.database.pool.query('SELECT 1').then(Boolean, () => false));
    }
  };

  test('a page holds what the inbox and the process still know, and says that it is not complete', async () => {
    const before = idsOf(await read());
    await away(async () => {
      const page = await read();
      expect(idsOf(page)).toEqual(before);
      expect(page).toMatchObject({ isComplete: false, emptyReason: null });
      expect(await page.hasNextPage()).toBe(true);
    });
  });

  test('what was heard too long ago is not shown: others may have changed it', async () => {
    await read();
    await away(async () => {
      world.now.ms += world.app.config.CONTENT_CACHE_TTL_MS + 1;
      expect(await read()).toMatchObject({ edges: [], isComplete: false, emptyReason: 'UNAVAILABLE' });
    });
  });

  test('a reader of whom nothing is known gets UNAVAILABLE and keeps the place, which goes on afterwards', async () => {
    const page = await read({ first: 1 });
    const stranger = createFeed(world.app, undefined, { schedule: () => undefined });
    await away(async () => {
      const nothing = await readFeed(stranger, READER, { first: 2, after: page.endCursor });
      expect(nothing).toMatchObject({
        edges: [],
        isComplete: false,
        emptyReason: 'UNAVAILABLE',
        endCursor: page.endCursor,
      });
      expect(await nothing.hasNextPage()).toBe(true);
    });
    expect(idsOf(await readFeed(stranger, READER, { first: 2, after: page.endCursor }))).toEqual(
      (await oracle()).slice(1),
    );
  });
});

test('a cap lets so many in, lets so many wait, and refuses the rest with SERVICE_UNAVAILABLE', async () => {
  const standIn = capStandIns(1, 1);
  let finish = (): void => undefined;
  const first = standIn(() => new Promise<void>((resolve) => (finish = resolve)));
  const second = standIn(() => Promise.resolve());
  await expect(standIn(() => Promise.resolve())).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  finish();
  await Promise.all([first, second]);
});
