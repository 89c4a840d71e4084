import { Redis } from 'ioredis';
import pg from 'pg';
import { createTestDatabase, startTestRedis } from './services.js';

export interface TestStores {
  readonly pool: pg.Pool;
  readonly redis: Redis;
  close(): Promise<void>;
}

/** Plain clients of a database and a Redis of one's own. */
export async function openTestStores(): Promise<TestStores> {
  const [database, server] = await Promise.all([createTestDatabase(), startTestRedis()]);
  const pool = new pg.Pool({ connectionString: database.databaseUrl, max: 8 });
  const redis = new Redis(server.redisUrl);
  return {
    pool,
    redis,
    async close() {
      await pool.end();
      redis.disconnect();
      await server.stop();
      await database.drop();
    },
  };
}
