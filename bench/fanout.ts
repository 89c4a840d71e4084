// `npm run bench -- fanout [--seconds N] [--inboxes N] [--entries N]`: deliveries into inboxes that are full, in turns by our
// stores, by what others do and by a bare client, with the CPU that each costs Node, Redis and Postgres, and how long first
// pages take meanwhile in a process beside it. `executor` is redis-packed with what saves the progress of tasks.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { openApp, type App } from '../src/app.js';
import { readConfig } from '../src/config.js';
import type { Entry } from '../src/domain/entry.js';
import { createAuthorShares } from '../src/fanout/author-shares.js';
import { executeTask } from '../src/fanout/execute-task.js';
import { registerFeedPolicy } from '../src/stores/feed-state.js';
import { createInboxStore, feedPolicyOf } from '../src/wiring/feed.js';
import { startPrivateServices } from '../test/load/private-services.js';
import { createLayouts, type Layout } from './lib/inbox-layouts.js';
import { quantile, round, summarize } from './lib/numbers.js';
import { findPostgresPid, readCpuUs } from './lib/process-cpu.js';
import { encodeCommand, openReplayer, type Replayer } from './lib/replay.js';

const { values: options } = parseArgs({
  options: {
    /** For each contender, in all. */
    seconds: { type: 'string', default: '12' },
    inboxes: { type: 'string', default: '20000' },
    entries: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '6' },
    json: { type: 'boolean', default: false },
  },
});
const inboxes = Number(options.inboxes);
const cap = Number(options.entries);
const rounds = Number(options.rounds);
const sliceMs = (1_000 * Number(options.seconds)) / rounds;
/** Followers a task, and tasks at once: FANOUT_CHUNK_SIZE and EXECUTOR_CONCURRENCY. */
const CHUNK = 1_000;
const TASKS_AT_ONCE = 4;
/** Tasks that the bare client may get through. */
const BARE_TASKS_PER_MS = 0.6;
const STEP_MS = 1_000;
const START_MS = 1_750_000_000_000;

type LayoutName = keyof ReturnType<typeof createLayouts>;
interface Contender {
  readonly name: string;
  /** Whose pages are read meanwhile. */
  readonly layout: LayoutName;
  readonly atOnce: number;
  /** One task: an entry, as one more than all before or late, for 1,000 readers. Untimed work comes first. */
  readonly prepare?: () => Promise<void>;
  readonly deliver: (userIds: readonly bigint[], entry: Entry) => Promise<unknown>;
  readonly afterwards?: () => Promise<void>;
}

const userIds = Array.from({ length: inboxes }, (_, i) => BigInt(i + 1));
const chunks = Array.from({ length: Math.ceil(inboxes / CHUNK) }, (_, i) => userIds.slice(i * CHUNK, (i + 1) * CHUNK));
let chunkNo = 0;
let entryNo = cap + 20;
const entryAt = (n: number): Entry => ({ publishTime: START_MS + n * STEP_MS, contentId: (1n << 62n) + BigInt(n) });

const services = await startPrivateServices();
const redis = new Redis(services.redisUrl);
const layouts = createLayouts(redis, cap);
const reader = fork('bench/lib/page-reader.ts', [services.redisUrl, String(inboxes), String(cap)]);
let app: App | undefined;
let replayer: Replayer | undefined;
try {
  for (const layout of Object.values(layouts)) await seed(layout);
  app = await openApp(
    readConfig({
      ...{ NODE_ENV: 'test', LOG_LEVEL: 'error', DATABASE_URL: services.databaseUrl, REDIS_URL: services.redisUrl },
      ...{ REDIS_KEY_PREFIX: 'packed', INBOX_STORE: 'redis-packed', INBOX_MAX_ENTRIES: String(cap) },
    }),
    { name: 'bench' },
  );
  replayer = await openReplayer(services.redisUrl);
  await registerFeedPolicy(app.database.pool, feedPolicyOf(app));
  console.log(JSON.stringify(await measure(await createContenders(app, replayer))));
} finally {
  reader.disconnect();
  replayer?.close();
  await app?.close();
  redis.disconnect();
  await services.discard();
}

/**
 * One full inbox by real deliveries, then copies, each with memory of its own. A sorted set's copy would be laid out in
 * order, which no set that grew beside others is: those grow entry by entry, all in turns.
 */
async function seed(layout: Layout): Promise<void> {
  if (layout === layouts.classic) return seedInTurns();
  const [first, ...others] = userIds as [bigint, ...bigint[]];
  await layout.open(first);
  for (let n = 0; n < cap + 20; n += 1) await layout.deliver([first], entryAt(n));
  for (let from = 0; from < others.length; from += CHUNK) {
    const part = others.slice(from, from + CHUNK);
    await Promise.all(part.map((userId) => redis.copy(layout.keyOf(first), layout.keyOf(userId))));
  }
}

async function seedInTurns(): Promise<void> {
  const bare = await openReplayer(services.redisUrl);
  for (let n = 0; n < cap; n += 1) {
    for (const ids of chunks) await bare.send(encodeZadds(ids, entryAt(n)), ids.length);
  }
  bare.close();
}

async function createContenders(opened: App, bare: Replayer): Promise<Contender[]> {
  const { pool } = opened.database;
  const inbox = createInboxStore(opened);
  const deps = { pool, inbox, batchSize: opened.config.FANOUT_BATCH_SIZE, shares: createAuthorShares(TASKS_AT_ONCE) };
  const late = (entry: Entry): Entry => ({
    ...entry,
    publishTime: entry.publishTime - Math.floor(Math.random() * Math.min(300, cap / 2)) * STEP_MS - 1,
  });
  let encoded: Buffer[] = [];
  return [
    ...Object.entries(layouts).map(([name, layout]): Contender => {
      const shared = { layout: name as LayoutName, atOnce: TASKS_AT_ONCE };
      return { name: layout.name, ...shared, deliver: (ids, entry) => layout.deliver(ids, entry) };
    }),
    {
      ...{ name: 'redis-packed, all late', layout: 'packed', atOnce: TASKS_AT_ONCE },
      deliver: (ids, entry) => layouts.packed.deliver(ids, late(entry)),
    },
    {
      ...{ name: 'executor', layout: 'packed', atOnce: TASKS_AT_ONCE },
      prepare: () => planTasks(opened),
      async deliver(ids, { publishTime, contentId }) {
        const task = { v: 1 as const, contentId: String(contentId), publishTime, taskNo: 0, userIds: ids.map(String) };
        const { delivered } = await executeTask(deps, task, () => Promise.resolve());
        if (delivered !== ids.length) throw new Error(`delivered to ${String(delivered)} of ${String(ids.length)}`);
      },
    },
    {
      ...{ name: 'bare client, encoded ZADDs', layout: 'classic', atOnce: 1 },
      prepare() {
        const tasks = Math.ceil(sliceMs * BARE_TASKS_PER_MS);
        encoded = Array.from({ length: tasks }, (_, i) => {
          const ids = chunks[(chunkNo + i) % chunks.length] as bigint[];
          return encodeZadds(ids, entryAt(entryNo + i));
        });
        return Promise.resolve();
      },
      async deliver(ids) {
        const bytes = encoded.shift();
        if (!bytes) throw new Error('the bare client is faster than was thought: BARE_TASKS_PER_MS');
        await bare.send(bytes, ids.length);
      },
      // The ZADDs have no trim.
      async afterwards() {
        for (const ids of chunks) {
          const pipeline = redis.pipeline();
          for (const id of ids) pipeline.zremrangebyrank(layouts.classic.keyOf(id), 0, -cap - 1);
          await pipeline.exec();
        }
      },
    },
  ];
}

function encodeZadds(ids: readonly bigint[], { publishTime, contentId }: Entry): Buffer {
  const words = [String(publishTime), String(contentId)];
  return Buffer.concat(ids.map((id) => encodeCommand('ZADD', layouts.classic.keyOf(id), ...words)));
}

/** Tasks as the dispatcher saves them, for more entries than a slice can use up. */
async function planTasks({ database: { pool } }: App): Promise<void> {
  const entries = Array.from({ length: Math.ceil(sliceMs * 1.5) }, (_, i) => entryAt(entryNo + i));
  const columns = [entries.map((it) => String(it.contentId)), entries.map((it) => it.publishTime)];
  await pool.query('TRUNCATE fanouts, fanout_tasks, contents CASCADE');
  await pool.query(`INSERT INTO users (id, handle, display_name) VALUES (1, 'ann', 'Ann') ON CONFLICT DO NOTHING`);
  const rows = 'unnest($1::numeric[], $2::bigint[]) AS c (id, publish_time)';
  await pool.query(
    `INSERT INTO contents (id, author_id, publish_time, text) SELECT id, 1, publish_time, 't' FROM ${rows}`,
    columns,
  );
  await pool.query(
    `INSERT INTO fanouts (content_id, author_id, publish_time, state, mode, epoch, is_planned, task_count, target_count)
     SELECT id, 1, publish_time, 'RUNNING', 'ALL_FOLLOWERS', 1, true, 1, $3 FROM ${rows}`,
    [...columns, CHUNK],
  );
  await pool.query(
    `INSERT INTO fanout_tasks (content_id, task_no, first_user_id, last_user_id, target_count)
     SELECT id, 0, 1, $2, $3 FROM unnest($1::numeric[]) AS id`,
    [columns[0], inboxes, CHUNK],
  );
  await pool.query('ANALYZE fanouts, fanout_tasks');
}

interface Slice {
  readonly perSecond: number;
  readonly nodeUs: number;
  readonly redisUs: number;
  readonly postgresUs: number;
  readonly pageMs: number[];
}

async function measure(contenders: readonly Contender[]): Promise<object> {
  const slices = new Map<string, Slice[]>(contenders.map(({ name }) => [name, []]));
  const idle: Record<string, number[][]> = {};
  for (let turn = -1; turn < rounds; turn += 1) {
    for (const name of Object.keys(layouts) as LayoutName[]) {
      const ms = await readPages(name, () => new Promise((resolve) => setTimeout(resolve, sliceMs / 2)));
      if (turn >= 0) (idle[name] ??= []).push(ms);
    }
    // In another order each time.
    for (const i of contenders.keys()) {
      const contender = contenders[(i + Math.max(0, turn)) % contenders.length] as Contender;
      const slice = await runSlice(contender);
      if (turn >= 0) slices.get(contender.name)?.push(slice);
    }
  }
  const table = contenders.map(({ name, layout }) => describe(slices.get(name) ?? [], name, idle[layout] ?? []));
  if (!options.json) console.table(Object.fromEntries(table.map(({ name, ...row }) => [name, flatten(row)])));
  const of = (name: string) => table.find((row) => row.name === name);
  const [ours, classic] = [of('redis-packed'), of(layouts.classic.name)];
  const ratios = ours &&
    classic && {
      deliveriesPerRedisCpu: round(classic.redisUs.median / ours.redisUs.median),
      deliveriesPerSecond: round(ours.perSecond.median / classic.perSecond.median),
      pageP99OfIdle: ours.pageP99OfIdle,
    };
  return {
    bench: 'fanout',
    inboxes,
    entries: cap,
    seconds: Number(options.seconds),
    rounds,
    ratios,
    contenders: table,
  };
}

async function runSlice({ layout, atOnce, prepare, deliver, afterwards }: Contender): Promise<Slice> {
  await prepare?.();
  const postgresPid = await findPostgresPid((app as App).database.pool);
  const readCpu = async () => ({
    node: process.cpuUsage(),
    redis: redisCpuUs(await redis.info('cpu')),
    postgres: readCpuUs(postgresPid, { children: true }),
  });
  let delivered = 0;
  let wallMs = 0;
  let used = { nodeUs: 0, redisUs: 0, postgresUs: 0 };
  const pageMs = await readPages(layout, async () => {
    const before = await readCpu();
    const began = performance.now();
    const work = async (): Promise<void> => {
      while (performance.now() - began < sliceMs) {
        const ids = chunks[chunkNo++ % chunks.length] as bigint[];
        await deliver(ids, entryAt(entryNo++));
        delivered += ids.length;
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    wallMs = performance.now() - began;
    const after = await readCpu();
    const { user, system } = process.cpuUsage(before.node);
    used = { nodeUs: user + system, redisUs: after.redis - before.redis, postgresUs: after.postgres - before.postgres };
  });
  await afterwards?.();
  const per = (us: number): number => us / delivered;
  return {
    perSecond: (1_000 * delivered) / wallMs,
    ...{ nodeUs: per(used.nodeUs), redisUs: per(used.redisUs), postgresUs: per(used.postgresUs), pageMs },
  };
}

/** Milliseconds of each page that is read while `work` runs. */
async function readPages(layout: LayoutName, work: () => Promise<unknown>): Promise<number[]> {
  reader.send(layout);
  await work();
  const answered = once(reader, 'message') as Promise<[number[]]>;
  reader.send('stop');
  return (await answered)[0];
}

function redisCpuUs(info: string): number {
  const secondsOf = (field: string): number => Number(new RegExp(`${field}:([\\d.]+)`).exec(info)?.[1]);
  return 1e6 * (secondsOf('used_cpu_user') + secondsOf('used_cpu_sys'));
}

/** Of page times the median of the rounds, each with its own quantile: one disturbed round does not decide. */
function describe(slices: readonly Slice[], name: string, idleMs: readonly number[][]) {
  const pageMs = slices.map((slice) => slice.pageMs);
  const inRounds = (ms: readonly number[][], q: number): number =>
    quantile(
      ms.map((round) => quantile(round, q)),
      0.5,
    );
  const of = (field: 'perSecond' | 'nodeUs' | 'redisUs' | 'postgresUs', digits?: number) =>
    summarize(
      slices.map((slice) => slice[field]),
      digits,
    );
  const [idleP99Ms, pageP99Ms] = [inRounds(idleMs, 0.99), inRounds(pageMs, 0.99)];
  return {
    name,
    perSecond: of('perSecond', 0),
    nodeUs: of('nodeUs'),
    redisUs: of('redisUs'),
    postgresUs: of('postgresUs'),
    pageP50Ms: round(inRounds(pageMs, 0.5)),
    pageP99Ms: round(pageP99Ms),
    idleP50Ms: round(inRounds(idleMs, 0.5)),
    idleP99Ms: round(idleP99Ms),
    pageP99OfIdle: round(pageP99Ms / idleP99Ms),
  };
}

function flatten(row: object): object {
  type Value = number | { median: number; from: number; to: number };
  const textOf = (value: Value) =>
    typeof value === 'number' ? value : `${value.median} (${value.from} to ${value.to})`;
  return Object.fromEntries(Object.entries(row).map(([key, value]: [string, Value]) => [key, textOf(value)]));
}
