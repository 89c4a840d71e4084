import type { ActivityWindows, FeedMode } from '../domain/push-policy.js';
import { defineStatement, type Pool, type Queryable } from './database.js';

/** What decides whom a content is pushed to, and where. */
export interface FeedPolicy extends ActivityWindows {
  readonly feedMode: FeedMode;
  /** The name of the inbox store, with all that its keys depend on. */
  readonly inboxStore: string;
}

/** The policy in force, as the authority records it. */
export interface FeedState extends FeedPolicy {
  readonly epoch: bigint;
}

/**
 * Records the policy that this deployment runs. Any change starts a new epoch, in which every inbox counts as missing
 * until its owner reads: what was pushed (or not) under another policy is not relied on. Safe to repeat.
 */
export async function registerFeedPolicy(pool: Pool, policy: FeedPolicy): Promise<void> {
  await updatePolicy(pool, [policy.feedMode, policy.inboxStore, policy.activeMs, policy.dormantMs]);
}

/**
 * Records which Redis holds the inboxes, and returns the epoch that counts from now on. Another one than before (it was
 * restarted, restored, or a replica took over) may lack what was pushed lately: that starts a new epoch.
 */
export async function registerRedis(pool: Pool, redisId: string): Promise<bigint> {
  const [row] = await updateRedis(pool, [redisId]);
  return row ? BigInt(row.epoch) : readEpoch(pool);
}

/** Starts a new epoch, for whoever changed contents without pushing them. Call it in the transaction of the change. */
export async function startNewEpoch(db: Queryable): Promise<void> {
  await incrementEpoch(db, []);
}

/** Holds the policy still until the transaction ends, so that targets are chosen under the policy that is recorded. */
export async function lockFeedState(client: Queryable): Promise<FeedState> {
  const [row] = await selectForShare(client, []);
  if (!row) throw new Error('feed_state has no row: the database is not migrated');
  return {
    epoch: BigInt(row.epoch),
    feedMode: row.feed_mode,
    inboxStore: row.inbox_store,
    activeMs: Number(row.active_ms),
    dormantMs: Number(row.dormant_ms),
  };
}

export async function readEpoch(db: Queryable): Promise<bigint> {
  const [row] = await selectEpoch(db, []);
  if (!row) throw new Error('feed_state has no row: the database is not migrated');
  return BigInt(row.epoch);
}

const updatePolicy = defineStatement(
  'feed_state_update_policy',
  `UPDATE feed_state SET feed_mode = $1, inbox_store = $2, active_ms = $3, dormant_ms = $4, epoch = epoch + 1
   WHERE id = 1 AND (feed_mode, inbox_store, active_ms, dormant_ms) IS DISTINCT FROM ($1, $2, $3::bigint, $4::bigint)`,
);

const updateRedis = defineStatement<{ epoch: string }>(
  'feed_state_update_redis',
  `UPDATE feed_state SET redis_id = $1, epoch = epoch + 1 WHERE id = 1 AND redis_id <> $1 RETURNING epoch`,
);

const incrementEpoch = defineStatement('feed_state_new_epoch', `UPDATE feed_state SET epoch = epoch + 1 WHERE id = 1`);

const selectEpoch = defineStatement<{ epoch: string }>('feed_state_epoch', 'SELECT epoch FROM feed_state WHERE id = 1');

const selectForShare = defineStatement<{
  epoch: string;
  feed_mode: FeedMode;
  inbox_store: string;
  active_ms: string;
  dormant_ms: string;
}>(
  'feed_state_for_share',
  `SELECT epoch, feed_mode, inbox_store, active_ms, dormant_ms FROM feed_state WHERE id = 1 FOR SHARE`,
);
