import type { App } from '../app.js';
import { messageOf } from '../domain/errors.js';
import { createRedisBreaker } from '../feed/guards.js';
import { foldCounters } from '../social/fold-counters.js';
import { projectAllCounters } from '../social/project-counters.js';
import { FROM_NEWEST, reconcileCounters, type Reconciled } from '../social/reconcile-counters.js';
import { reconcileFollowCounts, type FollowCounts } from '../social/reconcile-follow-counts.js';
import { createCommentIndex, type CommentIndex } from '../stores/comment-index.js';
import { createCountProjection, type CountProjection } from '../stores/count-projection.js';
import { startRepeating } from './repeat.js';

export const createAppCountProjection = ({
  redis,
  config,
  redisIdentity,
}: Pick<App, 'redis' | 'config' | 'redisIdentity'>): CountProjection =>
  createCountProjection({ redis, keyPrefix: config.REDIS_KEY_PREFIX, identity: redisIdentity });

/** With a Redis that does not answer it stops being asked, and pages of comments are read from Postgres. */
export function createAppCommentIndex({ redis, config }: Pick<App, 'redis' | 'config'>): CommentIndex {
  const index = createCommentIndex({ redis, keyPrefix: config.REDIS_KEY_PREFIX });
  const breaker = createRedisBreaker();
  return {
    read: (...args) => breaker.execute(() => index.read(...args)),
    save: (...args) => breaker.execute(() => index.save(...args)),
  };
}

function noteReconciled({ meters, log }: Pick<App, 'meters' | 'log'>, part: Reconciled): void {
  meters.reconciledContents.inc(part.contents);
  for (const { counter } of part.differences) meters.reconcileDifferences.inc({ kind: counter });
  meters.reconcileDifferences.inc({ kind: 'projection' }, part.projected?.length ?? 0);
  for (const { contentId, ...difference } of part.differences.slice(0, LOGGED_MAX)) {
    log.error({ contentId: contentId.toString(), ...difference }, 'a count was not what its relations say; set right');
  }
}

function noteFollowCounts({ meters, log }: Pick<App, 'meters' | 'log'>, wrong: readonly FollowCounts[]): void {
  meters.reconcileDifferences.inc({ kind: 'follows' }, wrong.length);
  for (const { userId, followers, following } of wrong.slice(0, LOGGED_MAX)) {
    log.error(
      { userId: userId.toString(), followers, following },
      'follow counts were not what follows say; set right',
    );
  }
}

const LOGGED_MAX = 20;

/** What keeps counts in order whatever becomes of the processes that change them: projecting, folding, reconciling. */
export function startCounterUpkeep(app: App): { close(): Promise<void> } {
  const { config, log, meters } = app;
  const { pool } = app.database;
  const projection = createAppCountProjection(app);
  const repeat = (everyMs: number, name: string, work: () => Promise<unknown>) =>
    startRepeating(everyMs, work, (error) => {
      log.warn({ error: messageOf(error) }, `${name} failed`);
    });
  const running = [
    repeat(config.COUNTER_INTERVAL_MS, 'projecting counts', () => projectAllCounters({ pool, projection })),
    repeat(config.COUNTER_INTERVAL_MS, 'folding counts', async () => {
      meters.shardsFolded.inc(await foldCounters({ pool }));
    }),
  ];
  if (config.RECONCILE_INTERVAL_MS > 0) {
    let before: bigint | null = null;
    let after: bigint | null = null;
    running.push(
      repeat(config.RECONCILE_INTERVAL_MS, 'reconciling follow counts', async () => {
        const { wrong, next } = await reconcileFollowCounts(
          { pool },
          { after, limit: config.RECONCILE_BATCH, isRepairing: true },
        );
        after = next;
        noteFollowCounts(app, wrong);
      }),
      repeat(config.RECONCILE_INTERVAL_MS, 'reconciling counts', async () => {
        const part = await reconcileCounters(
          { pool, projection },
          { before: before ?? FROM_NEWEST, limit: config.RECONCILE_BATCH, isRepairing: true },
        );
        before = part.next;
        noteReconciled(app, part);
      }),
    );
  }
  return {
    async close() {
      await Promise.all(running.map((it) => it.close()));
    },
  };
}
