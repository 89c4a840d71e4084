import path from 'node:path';
import { z } from 'zod';
import type { CursorKeys } from './domain/cursor.js';

/** The secret of a development start. Production refuses it. */
const DEVELOPMENT_SECRET = 'tideline-development-secret-do-not-use-in-production';

const port = (fallback: number) => z.coerce.number().int().min(0).max(65_535).default(fallback);
const count = (fallback: number, min = 1) => z.coerce.number().int().min(min).default(fallback);
const url = z.url();
const httpUrl = z.url({ protocol: /^https?$/ });
/** Words with commas between them. */
const list = z
  .string()
  .default('')
  .transform((text) => text.split(',').flatMap((item) => item.trim() || []));

/** Every setting, its unit and its default. README's table follows this list. */
const schema = z.object({
  NODE_ENV: z.enum(['development', 'production', 'test']).default('development'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  TIDELINE_DATA_DIR: z.string().min(1).default('.data'),
  DATABASE_URL: url.optional(),
  REDIS_URL: url.optional(),
  DATABASE_POOL_SIZE: count(10),
  REDIS_KEY_PREFIX: z
    .string()
    .regex(/^[\w:-]*$/)
    .default('tl'),
  REDIS_TIMEOUT_MS: count(2_000),
  HOST: z.string().default('127.0.0.1'),
  GATEWAY_PORT: port(4000),
  TIMELINE_PORT: port(4001),
  SOCIAL_PORT: port(4002),
  OPS_PORT: port(4003),
  TIMELINE_URL: url.optional(),
  SOCIAL_URL: url.optional(),
  DEMO_DATA: z.enum(['on', 'off']).default('on'),
  AUTH_JWT_SECRET: z.string().min(16).default(DEVELOPMENT_SECRET),
  AUTH_JWKS_URL: url.optional(),
  AUTH_ISSUER: z.string().optional(),
  AUTH_AUDIENCE: z.string().optional(),
  CURSOR_SECRETS: z.string().min(16).optional(),
  FEED_MODE: z.enum(['hybrid', 'push', 'pull']).default('hybrid'),
  FEED_INCLUDE_OWN: z.enum(['true', 'false']).default('false'),
  INBOX_STORE: z.enum(['redis-packed', 'redis-zset', 'postgres']).default('redis-packed'),
  INBOX_MAX_ENTRIES: count(1000),
  INBOX_BUCKETS: count(16),
  TIMELINE_MAX_DEPTH: count(2000),
  SCAN_BUDGET: count(5),
  ACTIVE_DAYS: z.coerce.number().positive().default(7),
  DORMANT_DAYS: z.coerce.number().positive().default(30),
  FANOUT_PUSH_THRESHOLD: count(10_000, 0),
  FANOUT_CHUNK_SIZE: count(1000),
  FANOUT_BATCH_SIZE: count(1000),
  FANOUT_TASKS_PER_CONTENT: count(32),
  FANOUT_TASKS_TOTAL: count(2000),
  FANOUT_ATTEMPTS: count(5),
  DISPATCHER_CONCURRENCY: count(4),
  EXECUTOR_CONCURRENCY: count(4),
  EXECUTOR_AUTHOR_SHARE: z.coerce.number().positive().max(1).default(0.5),
  JOB_LOCK_MS: count(30_000, 100),
  WORKER_ROLES: z
    .string()
    .default('relay,dispatcher,executor,maintenance')
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(['relay', 'dispatcher', 'executor', 'maintenance'])).min(1)),
  RELAY_POLL_MS: count(1000),
  SWEEP_INTERVAL_MS: count(30_000),
  STUCK_AFTER_MS: count(60_000, 0),
  REMOVAL_INTERVAL_MS: count(5_000),
  AUDIT_INTERVAL_MS: count(60_000, 0),
  COUNTER_INTERVAL_MS: count(1_000),
  RECONCILE_INTERVAL_MS: count(60_000, 0),
  RECONCILE_BATCH: count(1_000),
  MAINTENANCE_INTERVAL_MS: count(60_000),
  MAINTENANCE_BUDGET_MS: count(2_000),
  INBOX_MAX_AGE_DAYS: z.coerce.number().positive().default(90),
  EVENTS_KEEP_HOURS: z.coerce.number().min(0).default(24),
  TASKS_KEEP_HOURS: z.coerce.number().min(0).default(72),
  CLOCK_SKEW_MAX_MS: count(5_000),
  OUTBOX_MAX_ENTRIES: count(1000),
  STAND_IN_CONCURRENCY: count(8),
  STAND_IN_WAITING: count(500, 0),
  REBUILD_CONCURRENCY: count(4),
  CONTENT_CACHE_BYTES: count(32 * 1024 * 1024, 0),
  CONTENT_CACHE_TTL_MS: count(60_000),
  SOURCE_TIMEOUT_MS: count(2_000),
  CONTENT_SOURCE_URL: httpUrl.optional(),
  USER_SOURCE_URL: httpUrl.optional(),
  COUNTER_SOURCE_URL: httpUrl.optional(),
  SOURCE_BATCH_MAX: count(100),
  SOURCE_CONNECTIONS: count(16),
  SUBGRAPH_TIMEOUT_MS: count(10_000),
  SUBGRAPH_TIMEOUTS_MS: list
    .pipe(z.array(z.string().regex(/^[\w-]+=[1-9]\d*$/, 'must be of the form NAME=MILLISECONDS')))
    .transform((pairs): Readonly<Record<string, number>> =>
      Object.fromEntries(pairs.map((pair) => [pair.replace(/=.*/, ''), Number(pair.replace(/.*=/, ''))])),
    ),
  SUBGRAPH_READ_ATTEMPTS: count(2),
  SUPERGRAPH_POLL_MS: count(5_000, 0),
  PERSISTED_OPERATIONS_FILE: z.string().optional(),
  EXTRA_ERROR_CODES: list,
  REQUEST_TIMEOUT_MS: count(15_000),
  BODY_LIMIT_BYTES: count(256 * 1024),
  QUERY_TOKENS_MAX: count(4_000),
  QUERY_DEPTH_MAX: count(15),
  LIVE_CONNECTIONS_MAX: count(10_000),
  LIVE_PER_VIEWER: count(20),
  LIVE_INTERVAL_MS: count(1_000),
  LIVE_SLOW_MS: count(10_000),
  QUERY_ALIASES_MAX: count(30, 0),
  QUERY_DIRECTIVES_MAX: count(8, 0),
  QUERY_COST_MAX: count(5_000),
  RATE_LIMIT: z.enum(['on', 'off']).default('on'),
  RATE_LIMIT_BURST: count(50_000),
  RATE_LIMIT_PER_SECOND: count(500),
  CORS_ORIGINS: list.pipe(z.array(url)),
  TRUSTED_PROXIES: list,
  METRICS_TOKEN: z.string().min(16).optional(),
  SHUTDOWN_TIMEOUT_MS: count(10_000),
});

type Settings = z.infer<typeof schema>;

export interface Config extends Readonly<Settings> {
  /** TIDELINE_DATA_DIR, absolute. */
  readonly dataDir: string;
  readonly isProduction: boolean;
  readonly cursorKeys: CursorKeys;
}

/** The environment of this process. `needsStores: false` is for the gateway, which has none. */
export const readEnvironment = (options: { defaults?: Record<string, string>; needsStores?: boolean } = {}): Config =>
  readConfig({ ...options.defaults, ...process.env }, options);

/**
 * Reads settings, once. Empty values count as unset.
 * @throws Error naming each variable that does not fit, and in production the secrets that must not be the default.
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  { needsStores = true }: { needsStores?: boolean } = {},
): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
    throw new Error(`These settings do not fit:\n${faults.join('\n')}`);
  }
  const settings = parsed.data;
  const isProduction = settings.NODE_ENV === 'production';
  if (isProduction) refuseDevelopmentValues(settings, needsStores);
  // A rebuild holds one connection and may take a second one; readers need some too.
  if (settings.DATABASE_POOL_SIZE < 2 * settings.REBUILD_CONCURRENCY + 1) {
    throw new Error('DATABASE_POOL_SIZE must be more than twice REBUILD_CONCURRENCY.');
  }
  if (settings.RATE_LIMIT_BURST < settings.QUERY_COST_MAX) {
    throw new Error('RATE_LIMIT_BURST must not be less than QUERY_COST_MAX: no such operation could ever run.');
  }
  if (settings.ACTIVE_DAYS > settings.DORMANT_DAYS) throw new Error('ACTIVE_DAYS must not exceed DORMANT_DAYS.');
  const [first = settings.AUTH_JWT_SECRET, ...others] = settings.CURSOR_SECRETS?.split(',') ?? [];
  return Object.freeze({
    ...settings,
    dataDir: path.resolve(settings.TIDELINE_DATA_DIR),
    isProduction,
    cursorKeys: [first, ...others] as const,
  });
}

function refuseDevelopmentValues(settings: Settings, needsStores: boolean): void {
  // With a key server no token is made with the secret, but cursors would be.
  const { AUTH_JWT_SECRET, AUTH_JWKS_URL, CURSOR_SECRETS } = settings;
  if (AUTH_JWT_SECRET === DEVELOPMENT_SECRET && !AUTH_JWKS_URL) {
    throw new Error('AUTH_JWT_SECRET or AUTH_JWKS_URL must be set in production (the development secret is public).');
  }
  const cursorSecrets = CURSOR_SECRETS?.split(',') ?? [AUTH_JWT_SECRET];
  if (needsStores && cursorSecrets.includes(DEVELOPMENT_SECRET)) {
    throw new Error('CURSOR_SECRETS must be set in production (the development secret is public).');
  }
  for (const name of needsStores ? (['DATABASE_URL', 'REDIS_URL'] as const) : []) {
    if (!settings[name]) throw new Error(`${name} must be set in production.`);
  }
}
