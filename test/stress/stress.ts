// `npm run stress -- [--seconds N] [--graph FILE] [--small]`: writers, readers and workers as processes of their own on one
// database and one Redis. Each read must lie between the oracle at its start and the oracle at its end, and after the
// last delivery the feeds of many readers must equal the oracle. Prints one line of JSON; ends with 1 on any fault.
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openApp, type App } from '../../src/app.js';
import { readConfig } from '../../src/config.js';
import { readDeliveryState } from '../../src/stores/status.js';
import { sampleReaders } from '../../src/verify/sample-readers.js';
import { isFaulty, verifyReaders } from '../../src/verify/verify-reader.js';
import { createFeed, createInboxStore } from '../../src/wiring/feed.js';
import { prepareStores } from '../../src/wiring/start-all.js';
import { generateGraph } from '../harness/graphs.js';
import type { ChildTask } from './crowd.js';
import { loadGraph, readGraph, recordChanges } from './load-graph.js';
import { startPrivateServices } from './private-services.js';
import type { ReaderReport } from './reader.js';
import type { WriterReport } from './writer.js';

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
  const workers = size.workers.map((roles) => forkScript('workers/worker.ts', [], { ...env, WORKER_ROLES: roles }));
  const crashes: string[] = [];
  for (const worker of workers) worker.once('exit', (code) => code !== 0 && crashes.push(`worker: ${String(code)}`));
  const [written, read] = await Promise.all([
    runChildren<WriterReport>('test/stress/writer.ts', size.writers, crashes),
    runChildren<ReaderReport>('test/stress/reader.ts', size.readers, crashes),
  ]);
  const drainedAfterMs = await drain(crashes);
  const verify = await verifyAll();
  for (const worker of workers) worker.removeAllListeners('exit');
  await Promise.all(workers.map(stop));
  const { rows } = await pool.query<{ deliveries: string; big: string }>(
    `SELECT (SELECT coalesce(sum(delivered_count), 0) FROM fanouts) AS deliveries,
       (SELECT count(*) FROM users WHERE follower_count > $1) AS big`,
    [size.threshold],
  );
  const faults = {
    missing: sum(read.map((report) => report.faults.missing)),
    extra: sum(read.map((report) => report.faults.extra)),
    misordered: sum(read.map((report) => report.faults.misordered)),
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

function forkScript(script: string, args: readonly string[], environment: Record<string, string> = env): ChildProcess {
  const loaders = ['./scripts/lib/register-typescript.mjs', './scripts/lib/end-with-parent.mjs'];
  return fork(script, args, {
    execArgv: loaders.flatMap((loader) => ['--import', loader]),
    env: { PATH: process.env['PATH'], ...environment },
  });
}

/** Reports of those that ended well; the others are crashes. */
async function runChildren<Report>(script: string, count: number, crashes: string[]): Promise<Report[]> {
  const reports = Array.from({ length: count }, async (_, index) => {
    const task: ChildTask = { index, count, seconds, quietMs: size.quietMs };
    const child = forkScript(script, [JSON.stringify(task)]);
    let report: Report | undefined;
    child.once('message', (message) => (report = message as Report));
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (!report) crashes.push(`${script} ended without a report: ${code ?? String(signal)}`);
    return report ? [report] : [];
  });
  return (await Promise.all(reports)).flat();
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

/** Waits until everything is delivered; gives up on a failed task, or when it takes too long. */
async function drain(crashes: string[]): Promise<number> {
  const startedAt = Date.now();
  const { pool } = app.database;
  for (let shownAt = startedAt; ;) {
    const { fanouts } = await readDeliveryState(pool);
    const { rows } = await pool.query<{ n: string }>('SELECT count(*) AS n FROM events WHERE relayed_at IS NULL');
    const left = fanouts.PENDING + fanouts.RUNNING + fanouts.FAILED + Number(rows[0]?.n);
    const tookMs = Date.now() - startedAt;
    if (left === 0) return tookMs;
    if (fanouts.FAILED > 0 || tookMs > DRAIN_MS) {
      crashes.push(`not drained: ${JSON.stringify(fanouts)}`);
      return tookMs;
    }
    if (Date.now() - shownAt > 10_000) {
      shownAt = Date.now();
      say(`draining: ${left} left`);
    }
    await pause(100);
  }
}

async function verifyAll() {
  const feed = { ...createFeed(app, createInboxStore(app), { schedule: () => undefined }), isObserver: true };
  const userIds = await sampleReaders(app.database.pool, size.verified);
  const verify = { users: userIds.length, entries: 0, faulty: 0, missing: 0, extra: 0, misordered: 0 };
  await verifyReaders(feed, userIds, {
    pageSize: 100,
    onVerdict(verdict) {
      verify.entries += verdict.shown;
      for (const kind of ['missing', 'extra', 'misordered'] as const) verify[kind] += verdict[kind].length;
      if (!isFaulty(verdict)) return;
      verify.faulty += 1;
      say(`user ${verdict.userId}: ${verdict.missing.length} missing, ${verdict.extra.length} extra`);
    },
  });
  return verify;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

function sumUp(reports: readonly WriterReport[]): Record<string, number> {
  const names = Object.keys(reports[0] ?? {}).filter((name) => name !== 'kind') as Exclude<
    keyof WriterReport,
    'kind'
  >[];
  return Object.fromEntries(names.map((name) => [name, sum(reports.map((report) => report[name]))]));
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
