import pg from 'pg';
import { createSocial, type Social } from '../../src/social/create-social.js';
import { foldCounters } from '../../src/social/fold-counters.js';
import { createIdGenerator } from '../../src/social/id-generator.js';
import { projectAllCounters } from '../../src/social/project-counters.js';
import { createCommentIndex, type CommentIndex } from '../../src/stores/comment-index.js';
import { createCountProjection, type CountProjection } from '../../src/stores/count-projection.js';
import { readCounts, type VersionedCounts } from '../../src/stores/counters.js';
import { openDatabase } from '../../src/stores/database.js';
import { openRedis, type RedisClient } from '../../src/stores/redis.js';
import { watchRedisIdentity } from '../../src/stores/redis-identity.js';
import { startProxy, type Proxy } from './proxy.js';
import { createTestDatabase, startTestRedis, type TestRedis } from './services.js';

/** Two processes that write, and what counts and projects for them. */
export interface CounterWorld {
  /** Each on a pool of its own, as processes have. */
  readonly socials: readonly [Social, Social];
  /** Straight to the database. */
  readonly pool: pg.Pool;
  /** The way of the socials to the database. */
  readonly way: Proxy;
  readonly redis: TestRedis;
  readonly redisClient: RedisClient;
  readonly projection: CountProjection;
  readonly commentIndex: CommentIndex;
  /** Waits for all work that reads have set in motion. */
  settle(): Promise<void>;
  /** Projects and folds until nothing is left. */
  drain(): Promise<void>;
  addUsers(from: number, to: number): Promise<void>;
  countsOf(contentId: bigint): Promise<VersionedCounts | undefined>;
  projectedOf(contentId: bigint): Promise<VersionedCounts | undefined>;
  /** Counted anew from the relations. */
  relationsOf(contentId: bigint): Promise<{ likes: number; comments: number; reposts: number; favorites: number }>;
  close(): Promise<void>;
}

export async function openCounterWorld(): Promise<CounterWorld> {
  const [test, redis] = await Promise.all([createTestDatabase(), startTestRedis()]);
  const way = await startProxy(test.databaseUrl);
  const pool = new pg.Pool({ connectionString: test.databaseUrl, max: 4 });
  const redisClient = openRedis({ url: redis.redisUrl, timeoutMs: 2_000, onError: () => undefined });
  await redisClient.connect();
  const identity = watchRedisIdentity({ redis: redisClient, pool });
  const projection = createCountProjection({ redis: redisClient, keyPrefix: 'tl', identity });
  const commentIndex = createCommentIndex({ redis: redisClient, keyPrefix: 'tl' });
  const pending = new Set<Promise<unknown>>();
  const schedule = (_: string, work: () => Promise<unknown>): void => {
    const run = work()
      .catch(() => undefined)
      .finally(() => pending.delete(run));
    pending.add(run);
  };
  const processes = [openProcess(), openProcess()] as const;

  function openProcess() {
    const database = openDatabase({ url: way.url, poolSize: 6, onError: () => undefined });
    const ids = createIdGenerator({ pool: database.pool, clock: Date.now, log: { warn: () => undefined } });
    const social = createSocial({
      ...database,
      ids,
      clock: Date.now,
      cursorKeys: ['a key of at least 16 characters'],
      onContentChanged: () => undefined,
      onUserChanged: () => undefined,
      commentIndex,
      schedule,
    });
    return { database, ids, social };
  }

  return {
    socials: [processes[0].social, processes[1].social],
    pool,
    way,
    redis,
    redisClient,
    projection,
    commentIndex,
    async settle() {
      while (pending.size > 0) await Promise.all(pending);
    },
    async drain() {
      await projectAllCounters({ pool, projection });
      await foldCounters({ pool });
    },
    async addUsers(from, to) {
      await pool.query(
        `INSERT INTO users (id, handle, display_name)
         SELECT id, 'user_' || id, 'User ' || id FROM generate_series($1::int, $2::int) id`,
        [from, to],
      );
    },
    countsOf: async (contentId) => (await readCounts(pool, [contentId])).get(contentId),
    projectedOf: async (contentId) => (await projection.read([contentId])).get(contentId),
    async relationsOf(contentId) {
      const { rows } = await pool.query<{ likes: number; comments: number; reposts: number; favorites: number }>(
        `SELECT (SELECT count(*) FROM reactions WHERE content_id = $1 AND active AND kind = 'LIKE')::int AS likes,
           (SELECT count(*) FROM comments WHERE content_id = $1 AND deleted_at IS NULL)::int AS comments,
           (SELECT count(*) FROM contents WHERE repost_of = $1 AND deleted_at IS NULL AND visibility <> 'PRIVATE')::int
             AS reposts,
           (SELECT count(*) FROM reactions WHERE content_id = $1 AND active AND kind = 'FAVORITE')::int AS favorites`,
        [contentId],
      );
      return rows[0]!;
    },
    async close() {
      for (const { database, ids } of processes) {
        await ids.close();
        await database.close();
      }
      await pool.end();
      redisClient.disconnect();
      await way.close();
      await redis.stop();
      await test.drop();
    },
  };
}
