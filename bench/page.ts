// `npm run bench -- page [--seconds N] [--readers N] [--follows N]`: a first page of 20 hydrated items with warm caches, by
// the timeline subgraph, through the gateway, with FEED_MODE=pull, and beside them two floors: Apollo Server with its
// defaults answering the same page from memory, and a constant JSON text over HTTP. Each is a process of its own; they
// are asked in turns. CPU is of the process that answers, of Redis and of Postgres, per page.
import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openApp, type App } from '../src/app.js';
import { readConfig } from '../src/config.js';
import { rebuildInbox } from '../src/fanout/rebuild-inbox.js';
import { mintToken } from '../src/identity.js';
import { createInboxStore } from '../src/wiring/feed.js';
import { prepareStores } from '../src/wiring/prepare-stores.js';
import { startPrivateServices } from '../test/load/private-services.js';
import { findPostgresPid, findRedisPid, readCpuUs } from './lib/process-cpu.js';
import { createDeployment, forkService, postOperation, startRole, stopServices } from './lib/service-process.js';

const { values: options } = parseArgs({
  options: {
    /** For each of the five, in all. */
    seconds: { type: 'string', default: '6' },
    readers: { type: 'string', default: '200' },
    follows: { type: 'string', default: '500' },
    concurrency: { type: 'string', default: '8' },
    /** Profiles of the timeline subgraph and of the gateway, written into this folder when they end. */
    profile: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const readers = Number(options.readers);
const follows = Number(options.follows);
const concurrency = Number(options.concurrency);
const ROUNDS = 6;
const sliceMs = (1_000 * Number(options.seconds)) / ROUNDS;
const AUTHORS = Math.max(2_000, 2 * follows);
const CONTENTS_EACH = 40;

const QUERY = `query Page($first: Int) {
  timelineFeed(first: $first) {
    edges {
      cursor
      node {
        id contentId text publishTime visibility viewerHasLiked
        media { url kind width height altText }
        author { id userId handle displayName avatarUrl }
        counters { likes comments reposts favorites }
      }
    }
    pageInfo { hasNextPage endCursor }
    emptyReason
    isComplete
  }
}`;
const OPERATION = { query: QUERY, variables: { first: 20 } };

interface Target {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly pages: { count: number; wallMs: number; nodeUs: number; redisUs: number; postgresUs: number; ms: number[] };
}

const services = await startPrivateServices();
const children: ChildProcess[] = [];
const apps: App[] = [];
try {
  const result = await measure();
  if (!options.json) console.table(result.targets);
  console.log(JSON.stringify(result));
} finally {
  await stopServices(children);
  for (const app of apps) await app.close();
  await services.discard();
}

async function measure() {
  const hybrid = await createWorld('hybrid', {});
  const pull = await createWorld('pull', { FEED_MODE: 'pull' });
  const tokens = await Promise.all(readerIds().map((id) => mintToken(hybrid.app.config, BigInt(id))));
  const timeline = await startWorker('timeline', hybrid.env, options.profile);
  const pulling = await startWorker('timeline', pull.env);
  const gateway = await startWorker(
    'gateway',
    { ...hybrid.env, TIMELINE_URL: `${timeline.url}/graphql` },
    options.profile,
  );
  const { data } = JSON.parse(await postOperation(`${timeline.url}/graphql`, tokens[0] ?? '', OPERATION)) as {
    data: { timelineFeed: { edges: object[] } };
  };
  if (data.timelineFeed.edges.length !== 20) throw new Error('the page is not full');
  const typeDefs = readFileSync(new URL('../schema/timeline.graphql', import.meta.url), 'utf8');
  const apollo = await startServer({ kind: 'apollo', typeDefs, data });
  const constant = await startServer({ kind: 'constant', typeDefs, data });
  const targets = [
    target('timeline', `${timeline.url}/graphql`, timeline.pid),
    target('gateway', `${gateway.url}/graphql`, gateway.pid),
    target('pull only', `${pulling.url}/graphql`, pulling.pid),
    target('apollo from memory', apollo.url, apollo.pid),
    target('constant', constant.url, constant.pid),
  ];
  const redisPid = await findRedisPid(hybrid.app.redis);
  const postgresPid = await findPostgresPid(hybrid.app.database.pool);
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const each of targets) await drive(each, { tokens, redisPid, postgresPid, isWarmUp: round < 0 });
  }
  const perPage = Object.fromEntries(targets.map(({ name, pages }) => [name, describe(pages)]));
  const cpu = (name: string) => perPage[name]?.nodeUs ?? NaN;
  const rate = (name: string) => perPage[name]?.pagesPerSecond ?? NaN;
  return {
    readers,
    follows,
    targets: perPage,
    ratios: {
      cpuToApolloFromMemory: round2(cpu('timeline') / cpu('apollo from memory')),
      rateToPullOnly: round2(rate('timeline') / rate('pull only')),
      gatewayRateToSubgraph: round2(rate('gateway') / rate('timeline')),
    },
  };
}

async function drive(
  { url, pid, pages }: Target,
  {
    tokens,
    redisPid,
    postgresPid,
    isWarmUp,
  }: { tokens: string[]; redisPid: number; postgresPid: number; isWarmUp: boolean },
): Promise<void> {
  const cpu = () => [readCpuUs(pid), readCpuUs(redisPid), readCpuUs(postgresPid, { children: true })] as const;
  const before = cpu();
  const startedAt = performance.now();
  let [count, next] = [0, 0];
  const took: number[] = [];
  const work = async (): Promise<void> => {
    while (performance.now() - startedAt < sliceMs) {
      const token = tokens[next++ % tokens.length] ?? '';
      const began = performance.now();
      const body = await postOperation(url, token, OPERATION);
      took.push(performance.now() - began);
      if (body.includes('"errors"')) throw new Error(body);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  if (isWarmUp) return;
  const after = cpu();
  pages.count += count;
  pages.wallMs += performance.now() - startedAt;
  pages.nodeUs += after[0] - before[0];
  pages.redisUs += after[1] - before[1];
  pages.postgresUs += after[2] - before[2];
  pages.ms.push(...took);
}

function describe({ count, wallMs, nodeUs, redisUs, postgresUs, ms }: Target['pages']) {
  const sorted = ms.sort((a, b) => a - b);
  const at = (share: number) => round2(sorted[Math.floor(share * (sorted.length - 1))] ?? NaN);
  return {
    pages: count,
    pagesPerSecond: Math.round((1_000 * count) / wallMs),
    nodeUs: Math.round(nodeUs / count),
    redisUs: Math.round(redisUs / count),
    postgresUs: Math.round(postgresUs / count),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

function target(name: string, url: string, pid: number): Target {
  const pages = { count: 0, wallMs: 0, nodeUs: 0, redisUs: 0, postgresUs: 0, ms: [] };
  return { name, url, pid, pages };
}

/** Readers follow `follows` authors each; all is delivered, and their inboxes are rebuilt. */
async function createWorld(name: string, settings: Record<string, string>) {
  const env = await createDeployment(services, name, settings);
  const app = await openApp(readConfig(env), { name });
  apps.push(app);
  await prepareStores(app);
  await writeRows(app);
  const inbox = createInboxStore(app);
  const { pool } = app.database;
  // Makes this Redis known: else the first read would void the inboxes.
  await app.redisIdentity.validSince();
  for (const id of readerIds())
    await rebuildInbox({ pool, inbox, maxEntries: app.config.INBOX_MAX_ENTRIES }, BigInt(id));
  return { app, env };
}

function readerIds(): number[] {
  return Array.from({ length: readers }, (_, i) => AUTHORS + 1 + i);
}

async function writeRows({ database: { pool } }: App): Promise<void> {
  await pool.query(
    `INSERT INTO users (id, handle, display_name, avatar_url)
     SELECT id, 'user_' || id, 'User ' || id, 'https://images.example/' || id FROM generate_series(1, $1::int) id`,
    [AUTHORS + readers],
  );
  await pool.query(
    `INSERT INTO follows (follower_id, followee_id, follow_seq)
     SELECT r, 1 + (r * 37 + n * $3::int) % $1::int, n FROM generate_series($1::int + 1, $1::int + $2::int) r, generate_series(1, $4::int) n
     ON CONFLICT DO NOTHING`,
    [AUTHORS, readers, Math.max(1, Math.floor(AUTHORS / follows)), follows],
  );
  await pool.query(
    `UPDATE users SET follow_seq = n, following_count = n FROM (SELECT follower_id, max(follow_seq) AS n FROM follows GROUP BY 1) f WHERE follower_id = id`,
  );
  await pool.query('INSERT INTO activity (user_id, last_active_at) SELECT id, $2 FROM users WHERE id > $1', [
    AUTHORS,
    Date.now(),
  ]);
  await pool.query(
    `INSERT INTO contents (id, author_id, publish_time, text, media)
     SELECT n, 1 + n % $1::int, $2::bigint - 1000 * ($1::int * $3::int - n), repeat('A post of some length. ', 6),
       '[{"url":"https://images.example/1.jpg","kind":"IMAGE","width":640,"height":480}]'
     FROM generate_series(1, $1::int * $3::int) n`,
    [AUTHORS, Date.now(), CONTENTS_EACH],
  );
  await pool.query(
    `INSERT INTO fanouts (content_id, author_id, publish_time, state, mode, epoch, is_planned)
     SELECT id, author_id, publish_time, 'DONE', 'ALL_FOLLOWERS', 1, true FROM contents`,
  );
  await pool.query(
    'INSERT INTO content_counters (content_id, likes, comments) SELECT id, id % 100, id % 7 FROM contents ON CONFLICT DO NOTHING',
  );
  await pool.query('VACUUM ANALYZE');
}

async function startWorker(role: 'gateway' | 'timeline', env: Record<string, string>, profile?: string) {
  const started = await startRole(role, env, profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : []);
  children.push(started.child);
  return started;
}

async function startServer(setup: object): Promise<{ url: string; pid: number }> {
  const child = forkService('bench/page-server.ts', { NODE_ENV: 'production' });
  children.push(child);
  child.send(setup);
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return { url, pid: child.pid ?? 0 };
}

function round2(number: number): number {
  return Math.round(number * 100) / 100;
}
