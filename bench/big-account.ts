// `npm run bench -- big-account [--followers 1000000] [--tries 50]`: one post of a big account is pushed to all its
// followers, who all have inboxes, by a relay, a dispatcher and an executor, each a process of its own. Meanwhile ordinary
// authors with 200 followers publish, one after the other. Measured are the memory of planner and executor, of the queues in
// Redis, and the time from the return of each publication to the end of its delivery. Linux only.
import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openApp, type App } from '../src/app.js';
import { readConfig } from '../src/config.js';
import { queuePrefix } from '../src/jobs/queues.js';
import { findFanout } from '../src/stores/fanouts.js';
import { generateGraph, type GeneratedGraph } from '../src/stores/generate-graph.js';
import { createInboxStore } from '../src/wiring/feed.js';
import { prepareStores } from '../src/wiring/prepare-stores.js';
import { stopChild } from '../test/load/children.js';
import { as, openSocial } from '../test/load/open-social.js';
import { startPrivateServices } from '../test/load/private-services.js';

const { values: options } = parseArgs({
  options: { followers: { type: 'string', default: '1000000' }, tries: { type: 'string', default: '50' } },
});
const followers = Number(options.followers);
const tries = Number(options.tries);

const ROLES = ['relay', 'dispatcher', 'executor'] as const;
/** Between two looks at a delivery, at memory, and between two tries. */
const [LOOK_MS, SAMPLE_MS, TRY_MS] = [5, 200, 100];
const MIB = 1024 * 1024;

/** The lists of both queues, and the jobs that they name. */
const MEASURE = `
  local bytes, members = 0, {}
  for _, queue in ipairs({ 'event_content_meta_change', 'timeline_push' }) do
    local stem = ARGV[1] .. ':' .. queue .. ':'
    for _, name in ipairs({ 'wait', 'active', 'prioritized', 'delayed', 'completed', 'failed', 'events', 'meta', 'marker', 'id', 'pc', 'stalled' }) do
      local key = stem .. name
      bytes = bytes + (redis.call('MEMORY', 'USAGE', key) or 0)
      local kind = redis.call('TYPE', key).ok
      if kind == 'list' then members = redis.call('LRANGE', key, 0, -1)
      elseif kind == 'zset' and name ~= 'marker' then members = redis.call('ZRANGE', key, 0, -1)
      else members = {} end
      for _, id in ipairs(members) do bytes = bytes + (redis.call('MEMORY', 'USAGE', stem .. id) or 0) end
    end
  end
  return bytes`;

const services = await startPrivateServices();
const settings = { NODE_ENV: 'test', LOG_LEVEL: 'error', OPS_PORT: '0', STUCK_AFTER_MS: '600000' };
const env = { ...settings, DATABASE_URL: services.databaseUrl, REDIS_URL: services.redisUrl };
const app = await openApp(readConfig(env), { name: 'bench' });
try {
  await prepareStores(app);
  const plan = { users: followers + 1 + 201 * (tries + 1), bigAccountFollowers: followers, nowMs: Date.now() };
  const graph = await generateGraph(app.database.pool, plan);
  await app.database.pool.query('VACUUM ANALYZE users, follows, activity');
  await beginInboxes(app, graph);
  console.log(JSON.stringify(await measure(graph)));
} finally {
  await app.close();
  await services.discard();
}

/** Every reader has an inbox, still empty: what is pushed is written. */
async function beginInboxes(app: App, graph: GeneratedGraph): Promise<void> {
  const inbox = createInboxStore(app);
  for (let from = 0; from < graph.users; from += 1_000) {
    const some = Array.from(
      { length: Math.min(1_000, graph.users - from) },
      (_, i) => graph.bigAccount + BigInt(from + i),
    );
    await Promise.all(some.map((userId) => inbox.begin(userId, 'b1')));
  }
}

async function measure(graph: GeneratedGraph): Promise<object> {
  const { database, config } = app;
  const { pool } = database;
  const social = openSocial(app);
  // As in production: the loader of TypeScript would add its own memory to theirs.
  const children = ROLES.map((role) =>
    fork('dist/workers/worker.js', [], { env: { PATH: process.env['PATH'], ...env, WORKER_ROLES: role } }),
  );
  const peaks = { dispatcher: 0, executor: 0, queue: 0 };
  const sampling = new AbortController();
  const isDone = async (contentId: bigint) => (await findFanout(pool, contentId))?.state === 'DONE';
  const untilDone = async (contentId: bigint): Promise<void> => {
    while (!(await isDone(contentId))) await pause(LOOK_MS);
  };
  const publish = async (userId: bigint) => (await social.publishContent(as(userId), { text: 'text' })).contentId;
  /** The n-th ordinary author behind the followers of the big account, so that followers of both are few. */
  const authorOf = (n: number): bigint =>
    graph.firstGroup + BigInt((Math.ceil(followers / graph.groupSize) + n) * graph.groupSize);

  async function sample(): Promise<void> {
    while (!sampling.signal.aborted) {
      peaks.dispatcher = Math.max(peaks.dispatcher, readRssBytes(children[1]?.pid));
      peaks.executor = Math.max(peaks.executor, readRssBytes(children[2]?.pid));
      peaks.queue = Math.max(peaks.queue, await measureQueues());
      await pause(SAMPLE_MS);
    }
  }

  /** What the keys of both queues take in Redis. */
  async function measureQueues(): Promise<number> {
    return Number(await app.redis.eval(MEASURE, 0, queuePrefix(config.REDIS_KEY_PREFIX)));
  }

  try {
    // Started, and warm.
    await untilDone(await publish(authorOf(tries)));
    const began = performance.now();
    const big = await publish(graph.bigAccount);
    const sampled = sample();
    let seconds = 0;
    const delivered = untilDone(big).then(() => (seconds = (performance.now() - began) / 1000));
    while ((await findFanout(pool, big))?.taskCount === 0) await pause(LOOK_MS);
    const tookMs: number[] = [];
    let meanwhile = 0;
    for (let i = 0; i < tries; i += 1) {
      const contentId = await publish(authorOf(i));
      const publishedAt = performance.now();
      await untilDone(contentId);
      tookMs.push(performance.now() - publishedAt);
      if (seconds === 0) meanwhile += 1;
      await pause(TRY_MS);
    }
    await delivered;
    sampling.abort();
    await sampled;
    const fanout = await findFanout(pool, big);
    return {
      followers,
      mode: fanout?.mode,
      delivered: fanout?.deliveredCount,
      seconds: round(seconds),
      plannerMiB: round(peaks.dispatcher / MIB),
      executorMiB: round(peaks.executor / MIB),
      queuesMiB: round(peaks.queue / MIB),
      ordinary: {
        tries,
        meanwhile,
        p50Ms: quantile(tookMs, 0.5),
        p99Ms: quantile(tookMs, 0.99),
        maxMs: quantile(tookMs, 1),
      },
    };
  } finally {
    sampling.abort();
    await Promise.all(children.map((child) => stopChild(child)));
  }
}

function readRssBytes(pid: number | undefined): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
  return 1024 * Number(kib ?? 0);
}

function quantile(numbers: readonly number[], q: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return round(sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? 0);
}

function round(number: number): number {
  return Math.round(number * 10) / 10;
}
