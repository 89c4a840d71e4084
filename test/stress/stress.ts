// `npm run stress -- [--seconds N] [--graph FILE] [--small]`: writers, readers and workers as processes of their own on one
// database and one Redis. Each read must lie between the oracle at its start and the oracle at its end, and after the
// last delivery the feeds of many readers must equal the oracle. Prints one line of JSON; ends with 1 on any fault.
import { parseArgs } from 'node:util';
import { openApp, type App } from '../../src/app.js';
import { readConfig } from '../../src/config.js';
import { prepareStores } from '../../src/wiring/prepare-stores.js';
import { generateGraph } from '../harness/graphs.js';
import { forkScript, runChildren, stopChild, sum, sumUp } from '../load/children.js';
import { loadGraph, readGraph, recordChanges } from '../load/load-graph.js';
import { startPrivateServices } from '../load/private-services.js';
import type { ReaderReport } from '../load/reader.js';
import { drain, verifyFeeds } from '../load/settle.js';
import type { WriterReport } from '../load/writer.js';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    graph: { type: 'string' },
    /** A small generated graph, fewer processes: what `npm test` runs. */
    small: { type: 'boolean', default: false },
    /** Empty stores to use, instead of ones of its own. */
    'database-url': { type: 'string' },
    'redis-url': { type: 'string' },
  },
});
const seconds = Number(options.seconds);
const size = options.small
  ? { threshold: 30, writers: 2, readers: 2, workers: ['relay,dispatcher,executor'], verified: 300, quietMs: 1_500 }
  : {
      threshold: 1_000,
      writers: 4,
      readers: 4,
      workers: ['relay', 'dispatcher', 'executor'],
      verified: 1_000,
      quietMs: 10_000,
    };
const DRAIN_MS = 15 * 60_000;

const { 'database-url': givenDatabase, 'redis-url': givenRedis } = options;
const services =
  givenDatabase !== undefined && givenRedis !== undefined
    ? { databaseUrl: givenDatabase, redisUrl: givenRedis, discard: () => Promise.resolve() }
    : await startPrivateServices();
const env = {
  NODE_ENV: 'test',
  LOG_LEVEL: 'error',
  DATABASE_URL: services.databaseUrl,
  REDIS_URL: services.redisUrl,
  FANOUT_PUSH_THRESHOLD: String(size.threshold),
  FANOUT_CHUNK_SIZE: options.small ? '20' : '500',
  // Small enough to be trimmed, so that walks come below the floors.
  INBOX_MAX_ENTRIES: options.small ? '40' : '200',
  OUTBOX_MAX_ENTRIES: options.small ? '20' : '100',
  OPS_PORT: '0',
};
const app = await openApp(readConfig(env), { name: 'stress' });
const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function run({ database: { pool } }: App) {
  const edges = options.small ? generateGraph(300, 2_400) : readGraph(options.graph);
  await loadGraph(pool, edges);
  await recordChanges(pool);
  await prepareStores(app);
  say(`${edges.length} mutual follows loaded; ${seconds} s begin`);
  const workers = size.workers.map((roles) =>
    forkScript('workers/worker.ts', [], { env: { ...env, WORKER_ROLES: roles } }),
  );
  const crashes: string[] = [];
  for (const worker of workers) worker.once('exit', (code) => code !== 0 && crashes.push(`worker: ${String(code)}`));
  const task = { seconds, quietMs: size.quietMs, expectsOutages: false, env, crashes };
  const [written, read] = await Promise.all([
    runChildren<WriterReport>('test/load/writer.ts', size.writers, task),
    runChildren<ReaderReport>('test/load/reader.ts', size.readers, task),
  ]);
  const { tookMs: drainedAfterMs, left } = await drain(pool, { timeoutMs: DRAIN_MS, say });
  if (left.events + left.fanouts > 0) crashes.push(`not drained: ${JSON.stringify(left)}`);
  const verify = await verifyFeeds(app, size.verified, say);
  for (const worker of workers) worker.removeAllListeners('exit');
  await Promise.all(workers.map((worker) => stopChild(worker)));
  const { rows } = await pool.query<{ deliveries: string; big: string }>(
    `SELECT (SELECT coalesce(sum(delivered_count), 0) FROM fanouts) AS deliveries,
       (SELECT count(*) FROM users WHERE follower_count > $1) AS big`,
    [size.threshold],
  );
  const faults = {
    missing: sum(read.map((report) => report.faults.missing)),
    extra: sum(read.map((report) => report.faults.extra)),
    misordered: sum(read.map((report) => report.faults.misordered)),
    duplicated: sum(read.map((report) => report.faults.duplicated)),
    crashed: crashes.length,
  };
  for (const crash of crashes) say(crash);
  for (const example of read.flatMap((report) => report.examples)) say(JSON.stringify(example));
  return {
    isFaulty: sum(Object.values(faults)) + verify.faulty > 0,
    seconds,
    follows: 2 * edges.length,
    bigAccounts: Number(rows[0]?.big),
    reads: sum(read.map((report) => report.reads)),
    entriesRead: sum(read.map((report) => report.entries)),
    readsNotJudged: sum(read.map((report) => report.notJudged)),
    slowestReadMs: Math.max(...read.map((report) => report.slowestMs)),
    ...sumUp(written),
    deliveries: Number(rows[0]?.deliveries),
    drainedAfterMs,
    faults,
    verify,
  };
}

let outcome;
try {
  outcome = await run(app);
} finally {
  await app.close();
  await services.discard();
}
console.log(JSON.stringify(outcome));
process.exit(outcome.isFaulty ? 1 : 0);
