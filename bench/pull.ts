// `npm run bench -- pull [--authors 20000] [--entries 200] [--seconds 4]`: the newest 20 of 50 and of 500 random outboxes,
// by our two ways (Postgres with LATERAL, and the projections of big accounts in Redis) and by two others (plain sorted
// sets with one pipelined ZREVRANGE each, and all rows of Postgres fetched and sorted in Node). They are asked in turns,
// one pull at a time; all must find the same. Linux only.
import { parseArgs } from 'node:util';
import { openApp, type App } from '../src/app.js';
import { readConfig } from '../src/config.js';
import { compareEntries, ENTRY_MIN, ENTRY_TOP, type Entry } from '../src/domain/entry.js';
import { mergeEntries } from '../src/domain/merge.js';
import { readOutboxes } from '../src/feed/pull-outboxes.js';
import { pullOutboxes } from '../src/stores/outboxes.js';
import { createOutboxProjections } from '../src/wiring/feed.js';
import { createRandom } from '../test/harness/graphs.js';
import { startPrivateServices } from '../test/load/private-services.js';
import { quantile, round } from './lib/numbers.js';
import { findPostgresPid, findRedisPid, readCpuUs } from './lib/process-cpu.js';

const { values: options } = parseArgs({
  options: {
    authors: { type: 'string', default: '20000' },
    entries: { type: 'string', default: '200' },
    /** For each contender and size, in all. */
    seconds: { type: 'string', default: '4' },
  },
});
const authors = Number(options.authors);
const entriesEach = Number(options.entries);
const ROUNDS = 6;
const sliceMs = (1_000 * Number(options.seconds)) / ROUNDS;
const SIZES = [50, 500] as const;
const WALK = { from: null, direction: 'older', limit: 20 } as const;
const EPOCH = 1n;
/** Authors whose outboxes are written at once. */
const WRITTEN_AT_ONCE = 100;
const TIMES_FROM = Date.now() - authors * entriesEach;

type Pull = (authorIds: readonly bigint[]) => Promise<readonly Entry[]>;
interface Spent {
  readonly ms: number[];
  nodeUs: number;
  redisUs: number;
  postgresUs: number;
}

const services = await startPrivateServices();
const app = await openApp(
  readConfig({
    NODE_ENV: 'test',
    LOG_LEVEL: 'error',
    DATABASE_URL: services.databaseUrl,
    REDIS_URL: services.redisUrl,
    OUTBOX_MAX_ENTRIES: String(entriesEach + 1),
  }),
  { name: 'bench' },
);
const projections = createOutboxProjections(app);
try {
  await writeRows(app);
  await writeOutboxes();
  const results = await measure(createContenders());
  console.table(
    Object.fromEntries(
      Object.entries(results).flatMap(([name, { ratio, ...sizes }]) =>
        Object.entries(sizes).map(([size, figures]) => [`${name}, ${size}`, { ...figures, ratio }]),
      ),
    ),
  );
  console.log(JSON.stringify({ authors, entriesEach, rounds: ROUNDS, results }));
} finally {
  await app.close();
  await services.discard();
}

function createContenders(): Record<string, Pull> {
  const { pool } = app.database;
  const ranges = (authorIds: readonly bigint[], isPulled: boolean) =>
    authorIds.map((authorId) => ({ authorId, below: ENTRY_TOP, isPulled }));
  const deps = {
    pool,
    projections,
    onProjectionStale(authorId: bigint) {
      throw new Error(`no projection of ${String(authorId)}`);
    },
    onInboxError(error: unknown) {
      throw error;
    },
  };
  return {
    'postgres, LATERAL': (ids) => pullOutboxes(pool, ranges(ids, false), WALK),
    'redis, projections': async (ids) => merge(await readOutboxes(deps, ranges(ids, true), WALK, EPOCH)),
    'redis, ZREVRANGE pipelined': async (ids) => {
      const pipeline = app.redis.pipeline();
      for (const id of ids) pipeline.zrevrange(plainKeyOf(id), 0, WALK.limit - 1, 'WITHSCORES');
      const replies = (await pipeline.exec()) ?? [];
      return merge(
        replies.map(([error, reply]) => {
          if (error) throw error;
          return parseScores(reply as string[]);
        }),
      );
    },
    'postgres, all rows to node': async (ids) => {
      const { rows } = await pool.query<{ id: string; publish_time: string }>({
        name: 'bench_pull_all',
        text: 'SELECT id, publish_time FROM contents WHERE author_id = ANY($1::numeric[]) AND deleted_at IS NULL',
        values: [ids.map(String)],
      });
      const entries = rows.map((row) => ({ contentId: BigInt(row.id), publishTime: Number(row.publish_time) }));
      return entries.sort(compareEntries).slice(0, WALK.limit);
    },
  };
}

function parseScores(words: readonly string[]): Entry[] {
  return Array.from({ length: words.length / 2 }, (_, i) => ({
    contentId: BigInt(words[2 * i] ?? 0),
    publishTime: Number(words[2 * i + 1]),
  }));
}

function merge(lists: readonly (readonly Entry[])[]): Entry[] {
  return mergeEntries(lists, WALK.direction, WALK.limit);
}

async function measure(contenders: Record<string, Pull>) {
  const redisPid = await findRedisPid(app.redis);
  const postgresPid = await findPostgresPid(app.database.pool);
  const readServers = () => [readCpuUs(redisPid), readCpuUs(postgresPid, { children: true })] as const;
  const random = createRandom(5);
  const cases = Object.entries(contenders).flatMap(([name, pull]) =>
    SIZES.map((size) => ({ name, pull, size, spent: newSpent() })),
  );
  for (const size of SIZES) await compareAnswers(Object.values(contenders), drawAuthors(random, size));
  for (let turn = -1; turn < ROUNDS; turn += 1) {
    for (const { pull, size, spent } of cases) {
      const [before, node, began] = [readServers(), process.cpuUsage(), performance.now()];
      const ms: number[] = [];
      while (performance.now() - began < sliceMs) {
        const ids = drawAuthors(random, size);
        const startedAt = performance.now();
        await pull(ids);
        ms.push(performance.now() - startedAt);
      }
      // The first turn warms up.
      if (turn < 0) continue;
      const [after, used] = [readServers(), process.cpuUsage(node)];
      spent.ms.push(...ms);
      spent.nodeUs += used.user + used.system;
      spent.redisUs += after[0] - before[0];
      spent.postgresUs += after[1] - before[1];
    }
  }
  return Object.fromEntries(
    Object.keys(contenders).map((name) => {
      const [few, many] = cases.filter((it) => it.name === name).map(({ spent }) => describe(spent));
      return [name, { '50': few, '500': many, ratio: round((many?.p50Ms ?? NaN) / (few?.p50Ms ?? NaN)) }];
    }),
  );
}

function newSpent(): Spent {
  return { ms: [], nodeUs: 0, redisUs: 0, postgresUs: 0 };
}

async function compareAnswers(pulls: readonly Pull[], ids: readonly bigint[]): Promise<void> {
  const answers = await Promise.all(
    pulls.map(async (pull) => (await pull(ids)).map((entry) => `${entry.publishTime}/${entry.contentId}`).join()),
  );
  if (answers[0] === '' || new Set(answers).size !== 1) throw new Error(`pulls differ: ${answers.join('\n')}`);
}

function describe({ ms, nodeUs, redisUs, postgresUs }: Spent) {
  const perPull = (us: number): number => Math.round(us / ms.length);
  return {
    pulls: ms.length,
    p50Ms: round(quantile(ms, 0.5)),
    p99Ms: round(quantile(ms, 0.99)),
    nodeUs: perPull(nodeUs),
    redisUs: perPull(redisUs),
    postgresUs: perPull(postgresUs),
  };
}

function drawAuthors(random: (below: number) => number, count: number): bigint[] {
  const drawn = new Set<number>();
  while (drawn.size < count) drawn.add(1 + random(authors));
  return [...drawn].map(BigInt);
}

/** Content n is by author 1 + (n - 1) % authors: the table lies in the order of time, as it does in life. */
function entryOf(n: number): Entry {
  return { publishTime: TIMES_FROM + n, contentId: BigInt(n) };
}

async function writeRows({ database: { pool } }: App): Promise<void> {
  const client = await pool.connect();
  try {
    // Millions of rows take longer than a statement of the product may; their authors are known to exist.
    await client.query(`SET statement_timeout = 0; SET session_replication_role = replica`);
    await client.query(
      `INSERT INTO users (id, handle, display_name)
       SELECT id, 'user_' || id, 'User ' || id FROM generate_series(1, $1::int) id`,
      [authors],
    );
    await client.query(
      `INSERT INTO contents (id, author_id, publish_time, text)
       SELECT n, 1 + (n - 1) % $1::int, $2::bigint + n, 'A post of some length.' FROM generate_series(1, $1::int * $3::int) n`,
      [authors, TIMES_FROM, entriesEach],
    );
    await client.query('VACUUM ANALYZE contents');
  } finally {
    client.release(true);
  }
}

function plainKeyOf(authorId: bigint): string {
  return `plain:${authorId.toString()}`;
}

async function writeOutboxes(): Promise<void> {
  const head = {
    epoch: EPOCH,
    followSeq: 0n,
    activeSeq: 0n,
    awakeSeq: 0n,
    allFloor: ENTRY_MIN,
    activeFloor: ENTRY_MIN,
  };
  const write = async (author: number): Promise<void> => {
    const entries = Array.from({ length: entriesEach }, (_, i) => entryOf(author + (entriesEach - 1 - i) * authors));
    const id = BigInt(author);
    await projections.begin(id, 'be');
    if (!(await projections.fill(id, 'be', { ...head, entries }))) throw new Error('a projection was not written');
    await app.redis.zadd(plainKeyOf(id), ...entries.flatMap((it) => [it.publishTime, it.contentId.toString()]));
  };
  for (let from = 1; from <= authors; from += WRITTEN_AT_ONCE) {
    const count = Math.min(WRITTEN_AT_ONCE, authors - from + 1);
    await Promise.all(Array.from({ length: count }, (_, i) => write(from + i)));
  }
}
