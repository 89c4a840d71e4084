// `npm run bench -- backlog [--tasks 200000] [--tasks-per-content 10] [--pages 300]`: what a page costs while tasks wait in `timeline_push` and their
// contents are in flight, compared with the same contents delivered; and how soon a new post is readable meanwhile.
import { parseArgs } from 'node:util';
import { openApp, type App } from '../src/app.js';
import { readConfig } from '../src/config.js';
import { rebuildInbox } from '../src/fanout/rebuild-inbox.js';
import { readFeed } from '../src/feed/feed.js';
import { mintToken } from '../src/identity.js';
import { pushTaskJobId, pushTaskOptions } from '../src/jobs/catalog.js';
import { openQueues } from '../src/jobs/queues.js';
import { createSocial } from '../src/social/create-social.js';
import { createIdGenerator } from '../src/social/id-generator.js';
import { migrateDatabase } from '../src/stores/migrate.js';
import { createFeed, createInboxStore, type Feed } from '../src/wiring/feed.js';
import { prepareStores } from '../src/wiring/prepare-stores.js';
import { startAll } from '../src/wiring/start-all.js';
import { harnessLog } from '../test/harness/harness-log.js';
import { postGraphql } from '../test/harness/tiny-subgraphs.js';
import { startPrivateServices } from '../test/load/private-services.js';

const { values: options } = parseArgs({
  options: {
    tasks: { type: 'string', default: '200000' },
    pages: { type: 'string', default: '300' },
    /** 1: each task is a content of its own in flight, the dearest backlog there can be. */
    'tasks-per-content': { type: 'string', default: '10' },
  },
});
const tasks = Number(options.tasks);
const pages = Number(options.pages);
const tasksPerContent = Number(options['tasks-per-content']);
const contentsInFlight = Math.ceil(tasks / tasksPerContent);

const AUTHORS = 1_000;
const READERS = 20;
/** Followed by each reader, and with their share of the backlog. */
const FOLLOWED = 200;
/** Older contents of each author, delivered in both worlds. */
const DELIVERED = 20;
const PAGE_SIZE = 20;
/** Contents whose jobs are added at once. */
const BULK = 200;

interface World {
  readonly app: App;
  readonly feed: Feed;
  readonly gatewayUrl: string;
}
interface Content {
  readonly id: bigint;
  readonly authorId: number;
  readonly publishTime: number;
}

/** Users from 1 are authors, those from 1,001 are readers; each task goes to the readers of its author. */
const readerIds = Array.from({ length: READERS }, (_, i) => AUTHORS + 1 + i);
const readersOf = (authorId: number): number[] =>
  readerIds.filter((_, i) => (((authorId - i * 37) % AUTHORS) + AUTHORS) % AUTHORS < FOLLOWED);

const startedAt = Date.now();
const contents: readonly Content[] = Array.from({ length: AUTHORS * DELIVERED + contentsInFlight }, (_, i) => ({
  id: BigInt(i + 1),
  authorId: 1 + ((i * 7) % AUTHORS),
  publishTime: startedAt - 10 * (AUTHORS * DELIVERED + contentsInFlight - i),
}));
const backlog = contents.slice(AUTHORS * DELIVERED);

const services = await startPrivateServices();
const apps: App[] = [];
try {
  console.log(JSON.stringify(await measure()));
} finally {
  for (const app of apps) await app.close();
  await services.discard();
}

async function measure(): Promise<object> {
  const idle = await createWorld('idle', []);
  const busy = await createWorld('busy', backlog);
  const first = await comparePages(idle, busy, ({ feed }, userId) => readFeed(feed, userId, { first: PAGE_SIZE }));
  const cursorOf = async (feed: Feed, userId: bigint) => (await readFeed(feed, userId, { first: 3 })).endCursor;
  const cursors = new Map<Feed, (string | null)[]>();
  for (const { feed } of [idle, busy]) {
    cursors.set(feed, await Promise.all(readerIds.map((id) => cursorOf(feed, BigInt(id)))));
  }
  const withCursor = await comparePages(idle, busy, ({ feed }, userId, i) =>
    readFeed(feed, userId, { first: PAGE_SIZE, after: cursors.get(feed)?.[i] ?? null }),
  );
  const throughGateway = await comparePages(idle, busy, readThroughGateway);
  return { tasks, contentsInFlight, pages, first, withCursor, throughGateway, publish: await publishAndRead(busy) };
}

/** One database and one key prefix: the same contents, all delivered but those in `inFlight`. */
async function createWorld(name: string, inFlight: readonly Content[]): Promise<World> {
  const url = new URL(services.databaseUrl);
  url.pathname = `/${name}`;
  const ports = { GATEWAY_PORT: '0', TIMELINE_PORT: '0', SOCIAL_PORT: '0', OPS_PORT: '0' };
  const stores = { REDIS_URL: services.redisUrl, REDIS_KEY_PREFIX: name };
  const settings = { NODE_ENV: 'test', LOG_LEVEL: 'error', ...ports, ...stores };
  const admin = await openApp(readConfig({ ...settings, DATABASE_URL: services.databaseUrl }), { name });
  await admin.database.pool.query(`CREATE DATABASE ${name}`);
  await admin.close();
  await migrateDatabase({ databaseUrl: url.href, log: harnessLog });
  const app = await openApp(readConfig({ ...settings, DATABASE_URL: url.href }), { name });
  apps.push(app);
  await prepareStores(app);
  await writeRows(app, contents.slice(0, AUTHORS * DELIVERED));
  const delivered = inFlight.length === 0 ? backlog : [];
  await writeRows(app, delivered);
  await app.database.pool.query(`UPDATE fanouts SET state = 'DONE', finished_task_count = task_count`);
  const inbox = createInboxStore(app);
  const feed = createFeed(app, inbox, { schedule: () => undefined });
  const { pool } = app.database;
  // The first read makes this Redis known, which voids the inboxes written before.
  await readFeed(feed, BigInt(readerIds[0] as number), { first: 1 });
  for (const id of readerIds) await rebuildInbox({ pool, inbox, maxEntries: app.config.INBOX_MAX_ENTRIES }, BigInt(id));
  await writeRows(app, inFlight);
  await queueTasks(app, inFlight);
  await pool.query('VACUUM ANALYZE');
  const { gateway } = await startAll(app, { roles: [] });
  return { app, feed, gatewayUrl: gateway.url };
}

async function writeRows({ database: { pool } }: App, written: readonly Content[]): Promise<void> {
  if (written.length > 0 && written[0]?.id === 1n) {
    await pool.query(
      `INSERT INTO users (id, handle, display_name) SELECT id, 'user_' || id, 'User ' || id FROM generate_series(1, $1::int) id`,
      [AUTHORS + READERS],
    );
    const follows = Array.from({ length: AUTHORS }, (_, i) => readersOf(i + 1).map((reader) => [reader, i + 1])).flat();
    await pool.query(
      `INSERT INTO follows (follower_id, followee_id, follow_seq)
       SELECT a, b, row_number() OVER (PARTITION BY a) FROM unnest($1::int[], $2::int[]) f (a, b)`,
      [follows.map(([reader]) => reader), follows.map(([, author]) => author)],
    );
    await pool.query(
      `UPDATE users SET follow_seq = n, following_count = n
       FROM (SELECT follower_id, count(*) AS n FROM follows GROUP BY 1) f WHERE follower_id = id`,
    );
    await pool.query('INSERT INTO activity (user_id, last_active_at) SELECT unnest($1::int[]), $2', [
      readerIds,
      Date.now(),
    ]);
  }
  for (let from = 0; from < written.length; from += 20_000) {
    const part = written.slice(from, from + 20_000);
    const columns = [part.map(({ id }) => String(id)), part.map((it) => it.authorId), part.map((it) => it.publishTime)];
    const rows = 'unnest($1::numeric[], $2::int[], $3::bigint[]) AS c (id, author_id, publish_time)';
    await pool.query(
      `INSERT INTO contents (id, author_id, publish_time, text) SELECT id, author_id, publish_time, 'text' FROM ${rows}`,
      columns,
    );
    await pool.query(
      `INSERT INTO fanouts (content_id, author_id, publish_time, state, mode, epoch, is_planned, task_count, target_count)
       SELECT c.*, 'RUNNING', 'ALL_FOLLOWERS', 1, true, $4, $4 * 4 FROM ${rows}`,
      [...columns, tasksPerContent],
    );
    await pool.query(
      `INSERT INTO fanout_tasks (content_id, task_no, first_user_id, last_user_id, target_count)
       SELECT id, task_no, $2, $3, 4 FROM unnest($1::numeric[]) AS id, generate_series(0, $4::int - 1) AS task_no`,
      [columns[0], readerIds[0], readerIds.at(-1), tasksPerContent],
    );
  }
}

async function queueTasks(app: App, queued: readonly Content[]): Promise<void> {
  const queues = openQueues(app.queueRedis, app.config.REDIS_KEY_PREFIX, (error) => console.error(error.message));
  for (let from = 0; from < queued.length; from += BULK) {
    await queues.pushTasks.addBulk(
      queued.slice(from, from + BULK).flatMap(({ id, authorId, publishTime }) =>
        Array.from({ length: tasksPerContent }, (_, taskNo) => ({
          name: 'push',
          data: { v: 1 as const, contentId: String(id), publishTime, taskNo, userIds: readersOf(authorId).map(String) },
          opts: { ...pushTaskOptions(app.config.FANOUT_ATTEMPTS), jobId: pushTaskJobId(id, taskNo), priority: 3 },
        })),
      ),
    );
  }
  if (queued.length > 0) console.error('queue timeline_push:', await queues.pushTasks.getJobCounts());
  await queues.close();
}

/** Pages of both worlds in turns, so that whatever else the machine does meets both. */
async function comparePages(
  idle: World,
  busy: World,
  read: (world: World, userId: bigint, reader: number) => Promise<{ edges: readonly { contentId: bigint | string }[] }>,
): Promise<object> {
  const took: Record<'idle' | 'busy', number[]> = { idle: [], busy: [] };
  const shown: Record<'idle' | 'busy', string[]> = { idle: [], busy: [] };
  for (let round = -20; round < pages; round += 1) {
    const reader = Math.abs(round) % READERS;
    const userId = BigInt(readerIds[reader] as number);
    for (const [name, world] of [['idle', idle] as const, ['busy', busy] as const]) {
      const began = performance.now();
      const { edges } = await read(world, userId, reader);
      if (round >= 0) took[name].push(performance.now() - began);
      shown[name] = edges.map(({ contentId }) => String(contentId));
    }
    if (shown.idle.join() !== shown.busy.join()) throw new Error(`the worlds differ: ${JSON.stringify(shown)}`);
  }
  const [idleMs, busyMs] = [median(took.idle), median(took.busy)];
  return { idleMs, busyMs, ratio: round(busyMs / idleMs) };
}

async function readThroughGateway({ app, gatewayUrl }: World, userId: bigint) {
  const query = `{ timelineFeed(first: ${String(PAGE_SIZE)}) { edges { node { contentId author { displayName } } } } }`;
  const { body } = await postGraphql(gatewayUrl, query, { token: await mintToken(app.config, userId) });
  const data = body.data as { timelineFeed: { edges: { node: { contentId: string } }[] } };
  return { edges: data.timelineFeed.edges.map(({ node }) => node) };
}

/** From the return of publishContent to the end of a follower's read. */
async function publishAndRead({ app, feed }: World): Promise<object> {
  const { pool, prisma } = app.database;
  const ids = createIdGenerator({ pool, clock: app.clock, log: app.log });
  const { cursorKeys } = app.config;
  const onContentChanged = () => undefined;
  const social = createSocial({
    pool,
    prisma,
    ids,
    clock: app.clock,
    cursorKeys,
    onContentChanged,
    onUserChanged: onContentChanged,
  });
  const took: number[] = [];
  let seenAtOnce = 0;
  for (let i = 0; i < 50; i += 1) {
    const authorId = 1 + i * 13;
    const { contentId } = await social.publishContent({ userId: BigInt(authorId), isAdmin: false }, { text: 'now' });
    const began = performance.now();
    const [reader = 0] = readersOf(authorId);
    const { edges } = await readFeed(feed, BigInt(reader), { first: PAGE_SIZE });
    took.push(performance.now() - began);
    if (edges[0]?.contentId === contentId) seenAtOnce += 1;
  }
  await ids.close();
  return { published: took.length, seenAtOnce, readMs: median(took) };
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return round(sorted[Math.floor(sorted.length / 2)] ?? 0);
}

function round(number: number): number {
  return Math.round(number * 1_000) / 1_000;
}
