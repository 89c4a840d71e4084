// `npm run bench -- mixed [--graph reed98|github|FILE] [--seconds 12]`: 60 % first or next pages, 30 % author pages and 10 %
// publications through the gateway; gateway, subgraphs and workers are processes of their own. Without --graph: what a
// request costs with 1,000, 10,000 and 37,700 users who follow as many each, asked in turns; the largest is the GitHub
// graph where it is at hand. A turn ends when all that it published is delivered. Linux only.
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openApp, type App } from '../src/app.js';
import { readConfig } from '../src/config.js';
import { rebuildInbox } from '../src/fanout/rebuild-inbox.js';
import { mintToken } from '../src/identity.js';
import { createInboxStore } from '../src/wiring/feed.js';
import { prepareStores } from '../src/wiring/prepare-stores.js';
import { createRandom, generateGraph, readSocialGraph, type MutualFollow } from '../test/harness/graphs.js';
import { loadGraph, readGraph } from '../test/load/load-graph.js';
import { startPrivateServices } from '../test/load/private-services.js';
import { drain, verifyFeeds } from '../test/load/settle.js';
import { quantile, round, summarize } from './lib/numbers.js';
import { findPostgresPid, findRedisPid, readCpuUs } from './lib/process-cpu.js';
import {
  createDeployment,
  postOperation,
  startRole,
  stopServices,
  type ServiceProcess,
} from './lib/service-process.js';

const { values: options } = parseArgs({
  options: {
    graph: { type: 'string' },
    /** For each number of users, in all, without the waits for deliveries. */
    seconds: { type: 'string', default: '12' },
    /** Who reads, with inboxes at the start; the others' are absent until they read. */
    readers: { type: 'string', default: '1000' },
    concurrency: { type: 'string', default: '6' },
  },
});
const ROUNDS = 4;
const sliceMs = (1_000 * Number(options.seconds)) / ROUNDS;
const CONTENTS_EACH = 10;
const VERIFIED = 200;
const DRAIN_MS = 60_000;

const NODE = `id contentId text publishTime media { url kind } author { userId handle displayName avatarUrl }
  counters { likes comments } viewerHasLiked`;
const PAGE = `query Page($after: String) { timelineFeed(first: 20, after: $after) {
  edges { cursor node { ${NODE} } } pageInfo { hasNextPage endCursor } isComplete } }`;
const AUTHOR_PAGE = `query AuthorPage($userId: ID!) { user(userId: $userId) {
  displayName followerCount contents(first: 20) { edges { node { ${NODE} } } pageInfo { hasNextPage endCursor } } } }`;
const PUBLISH = `mutation Publish($text: String!) { publishContent(input: { text: $text }) { content { contentId } } }`;

type Kind = 'page' | 'authorPage' | 'publish';
interface World {
  readonly app: App;
  readonly users: readonly number[];
  readonly follows: number;
  readonly readers: readonly { readonly token: string; after: string | null }[];
  readonly processes: readonly ServiceProcess[];
  readonly gatewayUrl: string;
  readonly ms: Record<Kind, number[]>;
  readonly turns: { requests: number; nodeUs: number; redisUs: number; postgresUs: number }[];
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const random = createRandom(7);
const services = await startPrivateServices();
const worlds: World[] = [];
try {
  for (const [i, edges] of readGraphs().entries()) worlds.push(await createWorld(`mixed_${i}`, edges));
  for (let turn = -1; turn < ROUNDS; turn += 1) for (const world of worlds) await takeTurn(world, turn < 0);
  const results = [];
  for (const world of worlds)
    results.push({ ...describe(world), verified: await verifyFeeds(world.app, VERIFIED, say) });
  const costs = results.map(({ usPerRequest }) => usPerRequest.median);
  const ratio = round(Math.max(...costs) / Math.min(...costs));
  console.log(JSON.stringify({ mostToLeast: ratio, isFlat: ratio <= 1.3, results }));
  if (results.some(({ verified }) => verified.faulty > 0)) process.exitCode = 1;
} finally {
  await stopServices(worlds.flatMap(({ processes }) => processes.map(({ child }) => child)));
  for (const { app } of worlds) await app.close();
  await services.discard();
}

function readGraphs(): readonly (readonly MutualFollow[])[] {
  const { graph } = options;
  if (graph === 'reed98') return [readSocialGraph().edges];
  if (graph !== undefined && graph !== 'github' && !existsSync(graph)) throw new Error(`there is no ${graph}`);
  const largest = readGraph(graph === 'github' ? undefined : graph);
  if (graph !== undefined) return [largest];
  const perUser = largest.length / countUsers(largest);
  return [...[1_000, 10_000].map((users) => generateGraph(users, Math.round(users * perUser))), largest];
}

function countUsers(edges: readonly MutualFollow[]): number {
  return new Set(edges.flat()).size;
}

async function createWorld(name: string, edges: readonly MutualFollow[]): Promise<World> {
  const env = await createDeployment(services, name);
  const app = await openApp(readConfig(env), { name });
  await prepareStores(app);
  await loadGraph(app.database.pool, edges);
  await writeContents(app);
  const { rows } = await app.database.pool.query<{ id: string }>('SELECT id FROM users ORDER BY id');
  const users = rows.map(({ id }) => Number(id));
  const readerIds = await beginInboxes(app, users);
  const [timeline, social, worker] = await Promise.all(
    (['timeline', 'social', 'worker'] as const).map((role) => startRole(role, env)),
  );
  if (!timeline || !social || !worker) throw new Error('unreachable');
  const urls = { TIMELINE_URL: `${timeline.url}/graphql`, SOCIAL_URL: `${social.url}/graphql` };
  const gateway = await startRole('gateway', { ...env, ...urls });
  say(`${users.length} users, ${2 * edges.length} follows, ${readerIds.length} readers`);
  return {
    app,
    users,
    follows: 2 * edges.length,
    readers: await Promise.all(
      readerIds.map(async (id) => ({ token: await mintToken(app.config, BigInt(id)), after: null })),
    ),
    processes: [gateway, timeline, social, worker],
    gatewayUrl: `${gateway.url}/graphql`,
    ms: { page: [], authorPage: [], publish: [] },
    turns: [],
  };
}

async function writeContents({ database: { pool } }: App): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('SET statement_timeout = 0');
    await client.query(
      `INSERT INTO contents (id, author_id, publish_time, text)
       SELECT row_number() OVER (ORDER BY n, users.id), users.id, $1::bigint - 1000 * n, repeat('A post of some length. ', 6)
       FROM users, generate_series(1, $2::int) n`,
      [Date.now(), CONTENTS_EACH],
    );
    await client.query('VACUUM ANALYZE');
  } finally {
    client.release(true);
  }
}

/** Of readers who were here lately (see loadGraph). */
async function beginInboxes(app: App, users: readonly number[]): Promise<number[]> {
  // Makes this Redis known: else the first read would void the inboxes.
  await app.redisIdentity.validSince();
  const inbox = createInboxStore(app);
  const lately = users.filter((id) => id % 10 > 1);
  const step = Math.max(1, lately.length / Number(options.readers));
  const readerIds = lately.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step));
  const waiting = readerIds.values();
  const work = async (): Promise<void> => {
    for (const id of waiting) {
      const deps = { pool: app.database.pool, inbox, maxEntries: app.config.INBOX_MAX_ENTRIES };
      await rebuildInbox(deps, BigInt(id));
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
  return readerIds;
}

async function takeTurn(world: World, isWarmUp: boolean): Promise<void> {
  const { app, processes, turns } = world;
  const redisPid = await findRedisPid(app.redis);
  const postgresPid = await findPostgresPid(app.database.pool);
  const readCpu = () => ({
    nodeUs: processes.reduce((sum, { pid }) => sum + readCpuUs(pid), 0),
    redisUs: readCpuUs(redisPid),
    postgresUs: readCpuUs(postgresPid, { children: true }),
  });
  const before = readCpu();
  const startedAt = performance.now();
  let requests = 0;
  const work = async (): Promise<void> => {
    while (performance.now() - startedAt < sliceMs) {
      const began = performance.now();
      const kind = await makeRequest(world);
      if (!isWarmUp) world.ms[kind].push(performance.now() - began);
      requests += 1;
    }
  };
  await Promise.all(Array.from({ length: Number(options.concurrency) }, work));
  const { left } = await drain(app.database.pool, { timeoutMs: DRAIN_MS, say });
  if (left.events + left.fanouts > 0) throw new Error(`not delivered: ${JSON.stringify(left)}`);
  const after = readCpu();
  if (isWarmUp) return;
  turns.push({
    requests,
    nodeUs: after.nodeUs - before.nodeUs,
    redisUs: after.redisUs - before.redisUs,
    postgresUs: after.postgresUs - before.postgresUs,
  });
}

async function makeRequest({ readers, users, gatewayUrl }: World): Promise<Kind> {
  const reader = pick(readers);
  const dice = random(100);
  const send = async <T>(query: string, variables: object): Promise<T> => {
    const { data, errors } = JSON.parse(await postOperation(gatewayUrl, reader.token, { query, variables })) as {
      data: T;
      errors?: unknown;
    };
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
    return data;
  };
  if (dice < 60) {
    const { timelineFeed } = await send<{
      timelineFeed: { isComplete: boolean; pageInfo: { hasNextPage: boolean; endCursor: string | null } };
    }>(PAGE, { after: reader.after });
    if (!timelineFeed.isComplete) throw new Error('a page is not complete');
    // A reader takes the first page, the next one, and then begins anew.
    const { hasNextPage, endCursor } = timelineFeed.pageInfo;
    reader.after = reader.after === null && hasNextPage ? endCursor : null;
    return 'page';
  }
  if (dice < 90) {
    const { user } = await send<{ user: object | null }>(AUTHOR_PAGE, { userId: String(pick(users)) });
    if (!user) throw new Error('an author is not found');
    return 'authorPage';
  }
  await send(PUBLISH, { text: 'Published while others read.' });
  return 'publish';
}

function pick<T>(items: readonly T[]): T {
  return items[random(items.length)] as T;
}

function describe({ users, follows, readers, ms, turns }: World) {
  const perRequest = (of: (turn: World['turns'][number]) => number) =>
    summarize(
      turns.map((turn) => of(turn) / turn.requests),
      0,
    );
  const times = (kind: Kind) => ({
    count: ms[kind].length,
    p50Ms: round(quantile(ms[kind], 0.5)),
    p99Ms: round(quantile(ms[kind], 0.99)),
  });
  const requests = turns.reduce((sum, turn) => sum + turn.requests, 0);
  return {
    ...{ users: users.length, follows, readers: readers.length, requests, errors: 0 },
    requestsPerSecond: round((1_000 * requests) / (sliceMs * ROUNDS), 0),
    usPerRequest: perRequest((turn) => turn.nodeUs + turn.redisUs + turn.postgresUs),
    nodeUs: perRequest((turn) => turn.nodeUs),
    redisUs: perRequest((turn) => turn.redisUs),
    postgresUs: perRequest((turn) => turn.postgresUs),
    ...{ page: times('page'), authorPage: times('authorPage'), publish: times('publish') },
  };
}
