import type pg from 'pg';
import type { FeedMode } from '../domain/push-policy.js';
import { defineStatement, type Queryable } from './database.js';

/** The policy in force, as the authority records it. */
export interface FeedState {
  readonly epoch: bigint;
  readonly feedMode: FeedMode;
  readonly inboxStore: string;
}

/**
 * Records the policy that this deployment runs. A change of store or mode starts a new epoch, in which every inbox
 * counts as missing until its owner reads: what was pushed under another policy is not relied on. Safe to repeat.
 */
export async function registerFeedPolicy(pool: pg.Pool, policy: Omit<FeedState, 'epoch'>): Promise<void> {
  await updatePolicy(pool, [policy.feedMode, policy.inboxStore]);
}

/** Starts a new epoch, for whoever changed contents without pushing them. Call it in the transaction of the change. */
export async function startNewEpoch(db: Queryable): Promise<void> {
  await incrementEpoch(db, []);
}

/** Holds the policy still until the transaction ends, so that a mode is recorded under the epoch it was chosen in. */
export async function lockFeedState(client: Queryable): Promise<FeedState> {
  const [row] = await selectForShare(client, []);
  if (!row) throw new Error('feed_state has no row: the database is not migrated');
  return { epoch: BigInt(row.epoch), feedMode: row.feed_mode, inboxStore: row.inbox_store };
}

export async function readEpoch(db: Queryable): Promise<bigint> {
  const [row] = await selectEpoch(db, []);
  if (!row) throw new Error('feed_state has no row: the database is not migrated');
  return BigInt(row.epoch);
}

const updatePolicy = defineStatement(
  'feed_state_update_policy',
  `UPDATE feed_state SET feed_mode = $1, inbox_store = $2, epoch = epoch + 1
   WHERE id = 1 AND (feed_mode, inbox_store) IS DISTINCT FROM ($1, $2)`,
);

const incrementEpoch = defineStatement('feed_state_new_epoch', `UPDATE feed_state SET epoch = epoch + 1 WHERE id = 1`);

const selectEpoch = defineStatement<{ epoch: string }>('feed_state_epoch', 'SELECT epoch FROM feed_state WHERE id = 1');

const selectForShare = defineStatement<{ epoch: string; feed_mode: FeedMode; inbox_store: string }>(
  'feed_state_for_share',
  `SELECT epoch, feed_mode, inbox_store FROM feed_state WHERE id = 1 FOR SHARE`,
);
