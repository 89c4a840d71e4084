// `npm run chaos -- [--seconds N] [--seed S] [--graph FILE] [--only KINDS] [--small]`: a stack of its own (Postgres, Redis, workers,
// readers and writers as processes, each behind its own network) is driven and ill-treated for N seconds, then left
// alone until everything is delivered. Prints one line of JSON; ends with 1 when anything was lost, duplicated,
// misordered, shown without right or left unfinished, or when a process broke. docs/chaos.md tells what it does.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openApp } from '../../src/app.js';
import { readConfig } from '../../src/config.js';
import { waitUntil } from '../../src/embedded/processes.js';
import type { Pool } from '../../src/stores/database.js';
import { prepareStores } from '../../src/wiring/prepare-stores.js';
import { generateGraph, readSocialGraph } from '../harness/graphs.js';
import { sum, sumUp } from '../load/children.js';
import { loadGraph, readGraph, recordChanges } from '../load/load-graph.js';
import type { ReaderReport } from '../load/reader.js';
import { drain, verifyFeeds } from '../load/settle.js';
import type { WriterReport } from '../load/writer.js';
import { watchInboxes } from './check-inboxes.js';
import { injectFaults } from './faults.js';
import { startFleet } from './fleet.js';
import type { ProberReport } from './prober.js';
import { createRoutes } from './routes.js';
import { startChaosServers, type ChaosServers } from './servers.js';
import { watchBacklog } from './watch-backlog.js';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    /** Decides which faults come in which order, and for how long. */
    seed: { type: 'string', default: '1' },
    graph: { type: 'string' },
    /** Kinds of faults, separated by semicolons; all by default. */
    only: { type: 'string' },
    /** A small generated graph, fewer processes, shorter pauses: what `npm test` runs. */
    small: { type: 'boolean', default: false },
  },
});
const [seconds, seed] = [Number(options.seconds), Number(options.seed)];
const isSmall = options.small;
const LOCK_MS = isSmall ? 1_000 : 3_000;
const QUIET_MS = 5_000;
/** The last part of the run is without faults, so that inboxes get to claim something again. */
const CALM_SECONDS = Math.min(10, seconds / 5);
const START_MS = 5 * 60_000;
const DRAIN_MS = 10 * 60_000;
const VERIFIED = 1_000;
const KEY_PREFIX = 'tl';

const settings = {
  NODE_ENV: 'test',
  LOG_LEVEL: 'warn',
  REDIS_KEY_PREFIX: KEY_PREFIX,
  FANOUT_PUSH_THRESHOLD: isSmall ? '30' : '100',
  // Many tasks of many batches, so that there is something to die in the middle of.
  FANOUT_CHUNK_SIZE: '20',
  FANOUT_BATCH_SIZE: '5',
  INBOX_MAX_ENTRIES: isSmall ? '40' : '200',
  OUTBOX_MAX_ENTRIES: isSmall ? '20' : '100',
  JOB_LOCK_MS: String(LOCK_MS),
  STUCK_AFTER_MS: isSmall ? '2000' : '5000',
  SWEEP_INTERVAL_MS: '1000',
  AUDIT_INTERVAL_MS: '1000',
  OPS_PORT: '0',
};

const say = (text: string): void =>
  void process.stderr.write(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(6)} s  ${text}\n`);
const startedAt = Date.now();

async function run(servers: ChaosServers) {
  const env = { ...settings, DATABASE_URL: servers.postgres.url(), REDIS_URL: servers.redis.url() };
  const routes = createRoutes(servers);
  const own = await routes.open();
  const app = await openApp(readConfig({ ...env, ...own.env, LOG_LEVEL: 'silent' }), { name: 'chaos' });
  const { pool } = app.database;
  const edges = isSmall ? generateGraph(100, 800) : options.graph ? readGraph(options.graph) : readSocialGraph().edges;
  await loadGraph(pool, edges);
  await recordChanges(pool);
  await prepareStores(app);

  const logDir = join(process.cwd(), '.data', 'chaos');
  mkdirSync(logDir, { recursive: true });
  const logFile = join(logDir, `${new Date().toISOString().replaceAll(':', '-')}-seed-${String(seed)}.log`);
  say(`${edges.length} mutual follows, ${seconds} s, seed ${seed}; the processes log to ${logFile}`);
  const fleet = await startFleet({
    routes,
    env: settings,
    workers: isSmall
      ? { relay: 1, dispatcher: 1, executor: 2, maintenance: 1 }
      : { relay: 2, dispatcher: 2, executor: 3, maintenance: 1 },
    clients: {
      'test/load/writer.ts': 1,
      'test/load/reader.ts': isSmall ? 1 : 2,
      'test/chaos/prober.ts': 1,
    },
    task: { quietMs: QUIET_MS, expectsOutages: true },
    logFile,
  });
  // What is not there yet cannot be ill-treated.
  if (!(await waitUntil(() => isDelivering(pool), START_MS, 100))) throw new Error('nothing is delivered');
  say('the first post is delivered');
  const backlog = watchBacklog(pool);
  const claims = watchInboxes(app, VERIFIED, say);
  const faults = await injectFaults(
    { servers, routes, fleet, pool },
    {
      seed,
      only: options.only?.split(';') ?? null,
      seconds: seconds - CALM_SECONDS,
      gapMs: isSmall ? [100, 500] : [500, 5_000],
      holdMs: isSmall ? [100, 1_000] : [300, 6_000],
      recoveryMaxMs: isSmall ? 3_000 : 10_000,
      lockMs: LOCK_MS,
      keyPrefix: KEY_PREFIX,
    },
    say,
  );
  say('no more faults');
  await pause(1_000 * CALM_SECONDS);
  const reports = await fleet.stopClients();
  const written = (reports.get('test/load/writer.ts') ?? []) as WriterReport[];
  const read = (reports.get('test/load/reader.ts') ?? []) as ReaderReport[];
  const probed = (reports.get('test/chaos/prober.ts') ?? []) as ProberReport[];
  say('no more load');
  const { tookMs: settledAfterMs, left } = await drain(pool, { timeoutMs: DRAIN_MS, say });
  const { maxAgeMs: maxBacklogAgeMs } = await backlog.stop();
  const inboxes = await claims.stop();
  const feeds = await verifyFeeds(app, VERIFIED, say);
  await fleet.stopWorkers();
  const { rows } = await pool.query<{ posts: string; deliveries: string }>(
    `SELECT (SELECT count(*) FROM contents) AS posts, (SELECT coalesce(sum(delivered_count), 0) FROM fanouts) AS deliveries`,
  );
  await app.close();
  await routes.close();
  for (const crash of fleet.crashes) say(crash);
  for (const example of read.flatMap((report) => report.examples)) say(JSON.stringify(example));
  const during = (kind: keyof ReaderReport['faults']): number => sum(read.map((report) => report.faults[kind]));
  const probes = sumUp(probed);
  return {
    seconds,
    seed,
    posts: Number(rows[0]?.posts),
    deliveries: Number(rows[0]?.deliveries),
    faults,
    faultsInAll: sum(Object.values(faults)),
    lost: feeds.missing + inboxes.lost + during('missing') + (probes['missing'] ?? 0),
    duplicated: feeds.duplicated + inboxes.duplicated + during('duplicated'),
    misordered: feeds.misordered + inboxes.misordered + during('misordered'),
    extra: feeds.extra + during('extra'),
    unfinished: left.events + left.fanouts,
    crashed: fleet.crashes.length,
    maxPublishToReadableMs: Math.round(Math.max(0, ...probed.map(({ maxMs }) => maxMs))),
    meanPublishToReadableMs: Math.round((probes['sumMs'] ?? 0) / Math.max(1, probes['probes'] ?? 0)),
    maxBacklogAgeMs,
    settledAfterMs,
    probes: probes['probes'] ?? 0,
    reads: sum(read.map(({ reads }) => reads)),
    readsNotJudged: sum(read.map(({ notJudged }) => notJudged)),
    readsDuringOutages: sum(read.map(({ outages }) => outages)),
    writesDuringOutages: sum(written.map(({ outages }) => outages)),
    slowStops: fleet.slowStops.length,
    inboxes: { claims: inboxes.claims, claimed: inboxes.claimed },
    feeds: { users: feeds.users, entries: feeds.entries },
  };
}

async function isDelivering(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query(`SELECT FROM fanouts WHERE state = 'DONE' AND delivered_count > 0 LIMIT 1`);
  return rowCount === 1;
}

const servers = await startChaosServers();
let outcome;
try {
  outcome = await run(servers);
} finally {
  await servers.discard();
}
const { lost, duplicated, misordered, extra, unfinished, crashed } = outcome;
console.log(JSON.stringify(outcome));
process.exit(lost + duplicated + misordered + extra + unfinished + crashed > 0 ? 1 : 0);
