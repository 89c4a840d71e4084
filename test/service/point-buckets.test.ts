import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { Config } from '../../src/config.js';
import type { RunningServer } from '../../src/http.js';
import { startOwnGateway } from '../../src/wiring/gateway.js';
import { openRedis } from '../../src/stores/redis.js';
import { createLocalBuckets, createSharedBuckets } from '../../src/stores/point-buckets.js';
import { startTestRedis, type TestRedis } from '../harness/services.js';
import { createTestLog, postGraphql, testConfig, tokenFor } from '../harness/tiny-subgraphs.js';

let server: TestRedis;
let redis: Redis;
beforeAll(async () => {
  server = await startTestRedis();
  redis = openRedis({ url: server.redisUrl, timeoutMs: 5_000, onError: () => undefined });
  await redis.connect();
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** So slow that nothing is refilled while a test runs. */
const STILL = 0.000_001;

test('the script in Redis and the rule in the process give the same answers', async () => {
  let run = 0;
  const costs = fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(costs, fc.integer({ min: 60, max: 120 }), async (taken, capacity) => {
      const policy = { capacity, refillPerSecond: STILL };
      const shared = createSharedBuckets(redis, `test${(run += 1)}`, policy);
      const local = createLocalBuckets(policy, () => 0);
      for (const cost of taken) {
        const [there, here] = [await shared('u1', cost), await local('u1', cost)];
        // What was refilled meanwhile is a fraction of a point, in Redis only.
        expect({ ...there, remaining: Math.round(there.remaining), resetSeconds: 0, retryAfterSeconds: 0 }).toEqual({
          ...here,
          resetSeconds: 0,
          retryAfterSeconds: 0,
        });
      }
    }),
    { numRuns: 50 },
  );
});

test('a bucket refills evenly, up to full', async () => {
  const now = { ms: 0 };
  const take = createLocalBuckets({ capacity: 10, refillPerSecond: 2 }, () => now.ms);
  await take('u1', 10);
  now.ms = 1_500;
  expect(await take('u1', 4)).toMatchObject({ isAllowed: false, remaining: 3, retryAfterSeconds: 1, resetSeconds: 4 });
  expect(await take('u1', 3)).toMatchObject({ isAllowed: true, remaining: 0 });
  now.ms = 1_000_000;
  expect(await take('u1', 0)).toMatchObject({ remaining: 10, resetSeconds: 0 });
});

test('gateways share buckets, viewers do not, and a full bucket leaves no key', async () => {
  const policy = { capacity: 10, refillPerSecond: STILL };
  const [one, other] = [createSharedBuckets(redis, 'shared', policy), createSharedBuckets(redis, 'shared', policy)];
  expect((await one('u1', 6)).isAllowed).toBe(true);
  expect(await other('u1', 6)).toMatchObject({ isAllowed: false, remaining: 4 });
  expect((await other('u2', 6)).isAllowed).toBe(true);
  expect(await redis.pttl('shared:points:u1')).toBeGreaterThan(0);
  await one('u3', 0);
  expect(await redis.exists('shared:points:u3')).toBe(0);
});

describe('a gateway by itself', () => {
  // No subgraph answers here: what is refused for its rate is not even asked for.
  const nowhere = 'http://127.0.0.1:9/graphql';
  const small = { QUERY_COST_MAX: '1000', RATE_LIMIT_BURST: '1000', RATE_LIMIT_PER_SECOND: '1', GATEWAY_PORT: '0' };
  // Costs 606 points: the second one of two would have to wait for minutes.
  const query = `{ timelineFeed(first: 100) {
    nodes { author { handle } counters { likes } repostOf { author { handle } counters { likes } } } } }`;
  const { log } = createTestLog();
  const start = (config: Config, client: Redis | null) =>
    startOwnGateway({ config, log, subgraphUrls: { timeline: nowhere, social: nowhere } }, client);
  const codesOf = async (gateway: RunningServer, userId: bigint, requests: number) => {
    const codes: (string | undefined)[] = [];
    for (let i = 0; i < requests; i += 1) {
      const { body } = await postGraphql(gateway.url, query, { token: await tokenFor(userId) });
      codes.push(body.errors?.[0]?.extensions.code);
    }
    return codes;
  };
  const [AWAY, LIMITED] = ['SERVICE_UNAVAILABLE', 'RATE_LIMITED'];

  test('shares its buckets through Redis, and counts for itself while Redis is away', async () => {
    const still = testConfig({ ...small, REDIS_KEY_PREFIX: 'own' });
    const [one, other] = [await start(still, redis), await start(still, redis)];
    expect([await codesOf(one, 1n, 1), await codesOf(other, 1n, 1)]).toEqual([[AWAY], [LIMITED]]);
    await server.kill();
    expect(await codesOf(one, 2n, 2)).toEqual([AWAY, LIMITED]);
    expect(await codesOf(other, 2n, 2)).toEqual([AWAY, LIMITED]);
    await server.restart();
    await Promise.all([one.close(), other.close()]);
  });

  test('needs no Redis', async () => {
    const gateway = await start(testConfig(small), null);
    expect(await codesOf(gateway, 1n, 2)).toEqual([AWAY, LIMITED]);
    await gateway.close();
  });

  test('counts nothing with RATE_LIMIT=off', async () => {
    const gateway = await start(testConfig({ ...small, RATE_LIMIT: 'off' }), null);
    expect(await codesOf(gateway, 1n, 5)).toEqual([AWAY, AWAY, AWAY, AWAY, AWAY]);
    await gateway.close();
  });
});
