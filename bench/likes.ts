// `npm run bench -- likes [--rate 2000] [--seconds 5] [--rounds 3]`: what a feed page costs while one content is liked so often each
// second by a process of its own, compared with the same page in between; and whether the counts add up afterwards.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { openApp, type App } from '../src/app.js';
import { readConfig } from '../src/config.js';
import { rebuildInbox } from '../src/fanout/rebuild-inbox.js';
import { readFeed } from '../src/feed/feed.js';
import { createHydration } from '../src/feed/hydrate.js';
import { createSocial } from '../src/social/create-social.js';
import { createIdGenerator } from '../src/social/id-generator.js';
import { projectAllCounters, startCounterProjector } from '../src/social/project-counters.js';
import { readCounts } from '../src/stores/counters.js';
import { createAppCountProjection } from '../src/wiring/counters.js';
import { createFeed, createInboxStore } from '../src/wiring/feed.js';
import { prepareStores } from '../src/wiring/prepare-stores.js';
import { createHydrationParts } from '../src/wiring/subgraphs.js';
import { findPostgresPid, findRedisPid, readCpuUs } from './lib/process-cpu.js';
import { startPrivateServices } from '../test/load/private-services.js';

const { values: options } = parseArgs({
  options: {
    rate: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '5' },
    /** Times that the same is measured without and with likes, in turns. */
    rounds: { type: 'string', default: '3' },
  },
});
const rate = Number(options.rate);
const secondsPerRound = Number(options.seconds);
const rounds = Number(options.rounds);

const AUTHORS = 50;
const POSTS = 20;
const READER = 1_000n;
const LIKERS = 20_000;
const FIRST_LIKER = 10_000;
const HOT = BigInt(AUTHORS * POSTS);
const PAGE_SIZE = 20;
/** Pages are asked for so far apart: a reader's process is not busy all the time. */
const PAGE_EVERY_MS = 10;
/** The liking process sends what is due so often. */
const TICK_MS = 5;

if (process.send) await likeForEver();
else await run();

async function run(): Promise<void> {
  const services = await startPrivateServices();
  const settings = {
    NODE_ENV: 'test',
    LOG_LEVEL: 'error',
    DATABASE_URL: services.databaseUrl,
    REDIS_URL: services.redisUrl,
  };
  const app = await openApp(readConfig(settings), { name: 'bench' });
  try {
    console.log(JSON.stringify(await measure(app, settings)));
  } finally {
    await app.close();
    await services.discard();
  }
}

interface Sample {
  readonly ms: number;
  readonly cpuMs: number;
}

async function measure(app: App, settings: Record<string, string>): Promise<object> {
  const { pool } = app.database;
  await prepareStores(app);
  await writeRows(app);
  const inbox = createInboxStore(app);
  const feed = createFeed(app, inbox, { schedule: () => undefined });
  const { deps } = createHydrationParts(app);
  const page = async (): Promise<void> => {
    const hydration = createHydration(deps, { viewer: { userId: READER, isAdmin: false } });
    const { edges } = await readFeed(feed, READER, { first: PAGE_SIZE });
    if (edges[0]?.contentId !== HOT) throw new Error('the hot content must stand on the page');
    await Promise.all(
      edges.map(async ({ contentId }) => {
        const [details] = await Promise.all([
          hydration.contents.load(contentId),
          hydration.counters.load(contentId),
          hydration.viewerLikes.load(contentId),
        ]);
        if (details?.authorId) await hydration.users.load(details.authorId);
      }),
    );
  };
  await readFeed(feed, READER, { first: 1 });
  await rebuildInbox({ pool, inbox, maxEntries: app.config.INBOX_MAX_ENTRIES }, READER);
  for (let i = 0; i < 100; i += 1) await page();

  const liker = fork(process.argv[1] as string, process.argv.slice(2), {
    env: { ...process.env, ...settings },
    execArgv: process.execArgv,
  });
  await once(liker, 'message');
  const servers = { postgres: await findPostgresPid(pool), redis: await findRedisPid(app.redis) };
  const readServers = () => ({
    postgres: readCpuUs(servers.postgres, { children: true }),
    redis: readCpuUs(servers.redis),
  });
  const spent = { quiet: { postgres: 0, redis: 0 }, busy: { postgres: 0, redis: 0 } };
  const spending = async <T>(name: 'quiet' | 'busy', work: () => Promise<T>): Promise<T> => {
    const before = readServers();
    const result = await work();
    const after = readServers();
    for (const server of ['postgres', 'redis'] as const) spent[name][server] += after[server] - before[server];
    return result;
  };
  const quiet: Sample[] = [];
  const busy: Sample[] = [];
  const lockWaits: number[] = [];
  const likes: { sent: number; done: number; p50Ms: number; p99Ms: number; cpu: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    quiet.push(...(await spending('quiet', () => samplePages(page))));
    liker.send('start');
    const sampled = spending('busy', () => samplePages(page, async () => lockWaits.push(await countLockWaits(app))));
    busy.push(...(await sampled));
    liker.send('stop');
    const [report] = (await once(liker, 'message')) as [(typeof likes)[number]];
    likes.push(report);
  }
  liker.kill();
  await projectAllCounters({ pool, projection: createAppCountProjection(app) });
  return {
    rate,
    likesPerSecond: round1(likes.reduce((sum, { done }) => sum + done, 0) / (rounds * secondsPerRound)),
    likes,
    quiet: summarize(quiet),
    busy: summarize(busy),
    // What a like costs beyond the pages that were read meanwhile.
    serverUsPerLike: Object.fromEntries(
      (['postgres', 'redis'] as const).map((server) => {
        const pages = (spent.quiet[server] / quiet.length) * busy.length;
        const liked = likes.reduce((sum, { done }) => sum + done, 0);
        return [server, round1((spent.busy[server] - pages) / liked)];
      }),
    ),
    p50Ratio: round1(summarize(busy).p50Ms / summarize(quiet).p50Ms),
    cpuRatio: round1(summarize(busy).cpuMs / summarize(quiet).cpuMs),
    lockWaitsMax: Math.max(...lockWaits),
    lockWaitsMean: round1(lockWaits.reduce((sum, waits) => sum + waits, 0) / lockWaits.length),
    ...(await checkCounts(app)),
  };
}

async function samplePages(page: () => Promise<void>, onSecond?: () => Promise<unknown>): Promise<Sample[]> {
  const samples: Sample[] = [];
  const end = performance.now() + secondsPerRound * 1_000;
  let nextSecond = performance.now() + 200;
  while (performance.now() < end) {
    const [began, cpu] = [performance.now(), process.cpuUsage()];
    await page();
    const { user, system } = process.cpuUsage(cpu);
    samples.push({ ms: performance.now() - began, cpuMs: (user + system) / 1_000 });
    await new Promise((resolve) => setTimeout(resolve, PAGE_EVERY_MS));
    if (onSecond && performance.now() > nextSecond) {
      nextSecond += 200;
      await onSecond();
    }
  }
  return samples;
}

/** Sessions that wait for another's lock on a row or a transaction. */
async function countLockWaits({ database }: App): Promise<number> {
  const { rows } = await database.pool.query<{ n: string }>(
    `SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
  );
  return Number(rows[0]?.n);
}

async function checkCounts(app: App): Promise<object> {
  const { pool } = app.database;
  const counts = (await readCounts(pool, [HOT])).get(HOT);
  const projected = (await createAppCountProjection(app).read([HOT])).get(HOT);
  const { rows } = await pool.query<{ n: string; shards: string }>(
    `SELECT (SELECT count(*) FROM reactions WHERE content_id = $1 AND active) AS n,
       (SELECT count(*) FROM content_counter_shards WHERE content_id = $1) AS shards`,
    [HOT],
  );
  const relations = Number(rows[0]?.n);
  return {
    relations,
    shards: Number(rows[0]?.shards),
    isExact: counts?.likes === relations && projected?.likes === relations,
  };
}

async function writeRows({ database: { pool } }: App): Promise<void> {
  await pool.query(
    `INSERT INTO users (id, handle, display_name)
     SELECT id, 'user_' || id, 'User ' || id FROM generate_series(1, $1::int) id
     UNION ALL SELECT $2, 'reader', 'Reader'
     UNION ALL SELECT $3 + i, 'liker_' || i, 'Liker ' || i FROM generate_series(0, $4::int - 1) i`,
    [AUTHORS, READER, FIRST_LIKER, LIKERS],
  );
  await pool.query(
    `INSERT INTO follows (follower_id, followee_id, follow_seq) SELECT $1, id, id FROM generate_series(1, $2::int) id`,
    [READER, AUTHORS],
  );
  await pool.query('UPDATE users SET follow_seq = $2::int, following_count = $2::int WHERE id = $1', [READER, AUTHORS]);
  await pool.query(`INSERT INTO activity (user_id, last_active_at) VALUES ($1, $2)`, [READER, Date.now()]);
  await pool.query(
    `WITH made AS (
       INSERT INTO contents (id, author_id, publish_time, text)
       SELECT i, 1 + i % $1::int, $3::bigint + i, 'text' FROM generate_series(1, $2::int) i RETURNING *)
     INSERT INTO fanouts (content_id, author_id, publish_time, state, mode, epoch, is_planned)
     SELECT id, author_id, publish_time, 'DONE', 'ALL_FOLLOWERS', 1, true FROM made`,
    [AUTHORS, AUTHORS * POSTS, Date.now() - 1_000_000],
  );
  await pool.query('VACUUM ANALYZE');
}

/** The other process: likes from `start` to `stop`, each by the next of the likers, who take it back the next time. */
async function likeForEver(): Promise<void> {
  const app = await openApp(readConfig(process.env), { name: 'liker' });
  const { pool } = app.database;
  const ids = createIdGenerator({ pool, clock: app.clock, log: app.log });
  const projector = startCounterProjector({ pool, projection: createAppCountProjection(app), log: app.log });
  const social = createSocial({
    ...app.database,
    ids,
    clock: app.clock,
    cursorKeys: app.config.cursorKeys,
    onContentChanged: () => undefined,
    onUserChanged: () => undefined,
    onCountersChanged: projector.poke,
  });
  let sentInAll = 0;
  let timer: NodeJS.Timeout | undefined;
  let report = { sent: 0, took: [] as number[] };
  let pending: Promise<unknown>[] = [];
  let cpuBefore = process.cpuUsage();

  async function like(nth: number): Promise<void> {
    const userId = BigInt(FIRST_LIKER + (nth % LIKERS));
    const active = Math.floor(nth / LIKERS) % 2 === 0;
    const began = performance.now();
    await social.setReaction({ userId, isAdmin: false }, { contentId: HOT, kind: 'LIKE', active });
    report.took.push(performance.now() - began);
  }

  process.on('message', (message) => {
    if (message === 'start') {
      const began = performance.now();
      report = { sent: 0, took: [] };
      cpuBefore = process.cpuUsage();
      timer = setInterval(() => {
        const due = Math.floor(((performance.now() - began) / 1_000) * rate);
        for (; report.sent < due; report.sent += 1) pending.push(like(sentInAll++));
      }, TICK_MS);
      return;
    }
    clearInterval(timer);
    void Promise.all(pending).then(() => {
      pending = [];
      const sorted = report.took.sort((a, b) => a - b);
      const at = (part: number): number => round1(sorted[Math.floor(sorted.length * part)] ?? 0);
      const { user, system } = process.cpuUsage(cpuBefore);
      const cpu = round1((user + system) / 1e6 / secondsPerRound);
      process.send?.({ sent: report.sent, done: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), cpu });
    });
  });
  process.send?.('ready');
  await once(process, 'disconnect');
  process.exit();
}

function summarize(samples: readonly Sample[]) {
  const sorted = samples.map(({ ms }) => ms).sort((a, b) => a - b);
  const at = (part: number): number => round1(sorted[Math.floor(sorted.length * part)] ?? 0);
  const cpuMs = round1(samples.reduce((sum, sample) => sum + sample.cpuMs, 0) / samples.length);
  return { pages: samples.length, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), cpuMs };
}

function round1(number: number): number {
  return Math.round(number * 100) / 100;
}
