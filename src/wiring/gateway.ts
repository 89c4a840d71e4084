import { circuitBreaker, ConsecutiveBreaker, handleAll } from 'cockatiel';
import type { Config } from '../config.js';
import type { GatewayStores } from '../gateway/runtime.js';
import { startGateway, type GatewaySettings } from '../gateway/server.js';
import { withTimeout, type RunningServer } from '../http.js';
import type { Logger } from '../log.js';
import { findProjectFile } from '../project-files.js';
import { createLocalBuckets, createSharedBuckets, type TakePoints } from '../stores/point-buckets.js';
import { createQueryTexts } from '../stores/query-texts.js';
import type { RedisClient } from '../stores/redis.js';

/** A request does not wait longer for a bucket, and Redis is not asked for a while when it fails. */
const BUCKET_TIMEOUT_MS = 100;
const BREAKER_FAILURES = 3;
const BREAKER_PAUSE_MS = 1_000;

type Settings = Pick<GatewaySettings, 'config' | 'log' | 'subgraphUrls' | 'graphiqlToken'>;

/** @param redis what gateways share; null: each counts and remembers for itself. */
export const startOwnGateway = (settings: Settings, redis: RedisClient | null): Promise<RunningServer> =>
  startGateway({
    ...settings,
    supergraphPath: findProjectFile('schema/supergraph.graphql'),
    port: settings.config.GATEWAY_PORT,
    stores: createGatewayStores(settings.config, redis, settings.log),
  });

function createGatewayStores(config: Config, redis: RedisClient | null, log: Logger): GatewayStores {
  const { REDIS_KEY_PREFIX: keyPrefix } = config;
  return {
    ...(config.RATE_LIMIT === 'on' && { takePoints: createBuckets(config, redis, log) }),
    ...(redis && { queryTexts: createQueryTexts(redis, keyPrefix) }),
  };
}

/** Redis's buckets, and while Redis is away those of this process: limits get looser by the number of gateways. */
function createBuckets(config: Config, redis: RedisClient | null, log: Logger): TakePoints {
  const policy = { capacity: config.RATE_LIMIT_BURST, refillPerSecond: config.RATE_LIMIT_PER_SECOND };
  const local = createLocalBuckets(policy, Date.now);
  if (!redis) return local;
  const shared = createSharedBuckets(redis, config.REDIS_KEY_PREFIX, policy);
  const breaker = circuitBreaker(handleAll, {
    halfOpenAfter: BREAKER_PAUSE_MS,
    breaker: new ConsecutiveBreaker(BREAKER_FAILURES),
  });
  breaker.onBreak(() => {
    log.warn('rate limits are counted by this process alone: Redis does not answer');
  });
  return (key, cost) =>
    breaker.execute(() => withTimeout(shared(key, cost), BUCKET_TIMEOUT_MS)).catch(() => local(key, cost));
}
