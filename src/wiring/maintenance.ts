import { randomUUID } from 'node:crypto';
import type { App } from '../app.js';
import { messageOf } from '../domain/errors.js';
import { runMaintenance, type MaintenanceWork } from '../fanout/run-maintenance.js';
import { sweepFanouts } from '../fanout/sweep-fanouts.js';
import { tidyInboxes, tidyProjections } from '../fanout/tidy-inboxes.js';
import type { Queues } from '../jobs/queues.js';
import { removeAccounts } from '../social/remove-accounts.js';
import { createPostgresUpkeep } from '../stores/inbox/postgres-upkeep.js';
import { createRedisUpkeep } from '../stores/inbox/redis-upkeep.js';
import { pruneEvents, pruneTasks } from '../stores/prune.js';
import { startAudit } from '../verify/start-audit.js';
import { startCounterUpkeep } from './counters.js';
import { createFeed, createInboxStore, createOutboxProjections } from './feed.js';
import { startRepeating } from './repeat.js';

const HOUR_MS = 3_600_000;

/** Rows of one step. */
const PRUNE_ROWS = 1_000;

/**
 * Finds lost deliveries, frees what nobody needs any more, and looks at what readers see. The last repairs nothing: a
 * fault must stay for the next look.
 */
export function startMaintenance(app: App, queues: Queues): { close(): Promise<void> } {
  const { config, log, meters } = app;
  const { pool } = app.database;
  const warn = (text: string) => (error: unknown) => {
    log.warn({ error: messageOf(error) }, text);
  };
  const sweep = startRepeating(
    config.SWEEP_INTERVAL_MS,
    async () => {
      const report = await sweepFanouts({ pool, queues, stuckAfterMs: config.STUCK_AFTER_MS });
      if (report.replanned + report.failed > 0) log.info(report, 'unfinished deliveries planned again');
    },
    warn('sweep failed'),
  );
  const removal = { pool, inbox: createInboxStore(app), outboxes: createOutboxProjections(app) };
  const remove = startRepeating(
    config.REMOVAL_INTERVAL_MS,
    async () => {
      const finished = await removeAccounts(removal, (userId, error) => {
        log.warn({ userId: String(userId), error: messageOf(error) }, 'removing a deleted account: tried again later');
      });
      if (finished > 0) log.info({ finished }, 'deleted accounts removed');
    },
    warn('removing deleted accounts failed'),
  );
  const stop = new AbortController();
  const settings = { pool, holder: randomUUID(), works: listWorks(app), budgetMs: config.MAINTENANCE_BUDGET_MS };
  const upkeep = startRepeating(
    config.MAINTENANCE_INTERVAL_MS,
    () => runMaintenance({ ...settings, stop: stop.signal }),
    warn('maintenance failed'),
  );
  const feed = { ...createFeed(app, createInboxStore(app), { schedule: () => undefined }), isObserver: true };
  const audit = startAudit({ feed, intervalMs: config.AUDIT_INTERVAL_MS, log, metrics: meters });
  const counters = startCounterUpkeep(app);
  return {
    async close() {
      stop.abort();
      await Promise.all([sweep.close(), remove.close(), upkeep.close(), audit.close(), counters.close()]);
    },
  };
}

/** What nothing may grow with: history, and people who are gone. */
export function listWorks(app: App): MaintenanceWork[] {
  const { config, clock, redis, meters } = app;
  const { pool } = app.database;
  const inbox = createInboxStore(app);
  const outboxes = createOutboxProjections(app);
  const keySpace = { redis, keyPrefix: config.REDIS_KEY_PREFIX, buckets: config.INBOX_BUCKETS };
  const layout = config.INBOX_STORE === 'redis-zset' ? 'zset' : 'packed';
  const inboxes =
    config.INBOX_STORE === 'postgres'
      ? createPostgresUpkeep(pool)
      : createRedisUpkeep({ ...keySpace, kind: 'inbox', layout });
  const projections = createRedisUpkeep({ ...keySpace, kind: 'outbox', layout: 'zset' });
  const maxAgeMs = config.INBOX_MAX_AGE_DAYS * 24 * HOUR_MS;
  const count = (what: string, number: number): void => {
    if (number > 0) meters.freed.inc({ what }, number);
  };
  return [
    {
      name: 'events',
      async step() {
        const { deleted, position } = await pruneEvents(pool, config.EVENTS_KEEP_HOURS * HOUR_MS, PRUNE_ROWS);
        count('event', deleted);
        return position;
      },
    },
    {
      name: 'tasks',
      async step(from) {
        const { deleted, position } = await pruneTasks(pool, config.TASKS_KEEP_HOURS * HOUR_MS, from, PRUNE_ROWS);
        count('task', deleted);
        return position;
      },
    },
    {
      name: 'inboxes',
      async step(from) {
        const deps = { pool, clock, inbox, upkeep: inboxes, maxAgeMs, maxEntries: config.INBOX_MAX_ENTRIES };
        const { report, position } = await tidyInboxes(deps, from);
        count('inbox', report.dropped);
        count('old entry', report.trimmed);
        count('stale entry', report.removed);
        return position;
      },
    },
    {
      name: 'projections',
      async step(from) {
        const { dropped, position } = await tidyProjections({ pool, outboxes, upkeep: projections }, from);
        count('projection', dropped);
        return position;
      },
    },
  ];
}
