import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../domain/clock.js';
import {
  describeAllowance,
  takePoints,
  type Allowance,
  type Bucket,
  type BucketPolicy,
} from '../domain/token-bucket.js';

/** @param key whose bucket, @param cost in points */
export type TakePoints = (key: string, cost: number) => Promise<Allowance>;

/** Buckets that all gateways share. @throws when Redis does not answer */
export function createSharedBuckets(redis: Redis, keyPrefix: string, policy: BucketPolicy): TakePoints {
  redis.defineCommand('takePoints', { numberOfKeys: 1, lua: SCRIPT });
  const run = redis as unknown as Record<'takePoints', (...args: unknown[]) => Promise<[number, string]>>;
  return async (key, cost) => {
    const { capacity, refillPerSecond } = policy;
    const [allowed, points] = await run.takePoints(`${keyPrefix}:points:${key}`, cost, capacity, refillPerSecond);
    return describeAllowance(allowed === 1, Number(points), cost, policy);
  };
}

/** Buckets of this process alone: while Redis is away, and where there is none. */
export function createLocalBuckets(policy: BucketPolicy, clock: Clock): TakePoints {
  const buckets = new LRUCache<string, Bucket>({ max: LOCAL_BUCKETS_MAX });
  return async (key, cost) => {
    const { bucket, isAllowed } = takePoints(buckets.get(key), cost, policy, clock());
    buckets.set(key, bucket);
    return describeAllowance(isAllowed, bucket.points, cost, policy);
  };
}

/** Whoever was seen longest ago is forgotten, so starts with a full bucket. */
const LOCAL_BUCKETS_MAX = 100_000;

const SCRIPT = readFileSync(new URL('./lua/take-points.lua', import.meta.url), 'utf8');
