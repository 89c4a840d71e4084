import type { App } from '../app.js';
import { createAuthorShares } from '../fanout/author-shares.js';
import { startRelay } from '../fanout/start-relay.js';
import { startDispatcher, startExecutor, type WorkerDeps } from '../fanout/start-workers.js';
import { openQueues, type Queues } from '../jobs/queues.js';
import { contentKey, publishInvalidation } from '../stores/invalidations.js';
import { createInboxStore, createOutboxProjections } from './feed.js';
import { createAnnouncer } from './live.js';
import { startMaintenance } from './maintenance.js';

export type WorkerRole = 'relay' | 'dispatcher' | 'executor' | 'maintenance';

export interface FanoutWorkers {
  readonly queues: Queues;
  /** Lets running jobs end, then stops. */
  close(): Promise<void>;
}

/** Starts the workers of the roles in this process; all of them by default. */
export function startFanoutWorkers(
  app: App,
  roles: readonly WorkerRole[] = ['relay', 'dispatcher', 'executor', 'maintenance'],
): FanoutWorkers {
  const { config } = app;
  const { queues, deps } = createWorkerDeps(app);
  const relayDeps = { ...deps, queues, announce: createAnnouncer(app) };
  const start = {
    relay: () => startRelay({ ...relayDeps, databaseUrl: config.DATABASE_URL, pollMs: config.RELAY_POLL_MS }),
    dispatcher: () => startDispatcher(deps),
    executor: () => startExecutor(deps),
    maintenance: () => startMaintenance(app, queues),
  };
  const running = roles.map((role) => start[role]());
  return {
    queues,
    async close() {
      await Promise.all(running.map((worker) => worker.close()));
      await queues.close();
    },
  };
}

/** What every worker of a process is built from. */
export function createWorkerDeps(app: App): { queues: Queues; deps: WorkerDeps } {
  const { config, log } = app;
  const queues = openQueues(app.queueRedis, config.REDIS_KEY_PREFIX, (error) => {
    log.warn({ error: error.message }, 'queue');
  });
  const deps: WorkerDeps = {
    pool: app.database.pool,
    queues,
    clock: app.clock,
    threshold: config.FANOUT_PUSH_THRESHOLD,
    chunkSize: config.FANOUT_CHUNK_SIZE,
    tasksPerContent: config.FANOUT_TASKS_PER_CONTENT,
    tasksTotal: config.FANOUT_TASKS_TOTAL,
    attempts: config.FANOUT_ATTEMPTS,
    inbox: createInboxStore(app),
    outboxes: createOutboxProjections(app),
    batchSize: config.FANOUT_BATCH_SIZE,
    connection: app.queueRedis,
    keyPrefix: config.REDIS_KEY_PREFIX,
    dispatcherConcurrency: config.DISPATCHER_CONCURRENCY,
    executorConcurrency: config.EXECUTOR_CONCURRENCY,
    shares: createAuthorShares(Math.ceil(config.EXECUTOR_CONCURRENCY * config.EXECUTOR_AUTHOR_SHARE)),
    lockMs: config.JOB_LOCK_MS,
    // The rest of the time is for handing over and for closing what lies below.
    drainMs: config.SHUTDOWN_TIMEOUT_MS / 2,
    log,
    onContentChanged: (contentId) => publishInvalidation(app.redis, config.REDIS_KEY_PREFIX, contentKey(contentId)),
    metrics: { deliveries: app.meters.deliveries, publishToDelivered: app.meters.publishToDeliveredSeconds },
  };
  return { queues, deps };
}
