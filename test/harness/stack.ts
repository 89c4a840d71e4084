import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { openApp, type App } from '../../src/app.js';
import { readConfig } from '../../src/config.js';
import type { Clock } from '../../src/domain/clock.js';
import type { Entry } from '../../src/domain/entry.js';
import { findFreePort } from '../../src/embedded/private-files.js';
import { mintToken } from '../../src/identity.js';
import { importLines, type ImportOptions, type ImportSummary } from '../../src/import/import-lines.js';
import { splitLines } from '../../src/import/split-lines.js';
import { listRemovals } from '../../src/stores/accounts.js';
import { countRows, readDeliveryState } from '../../src/stores/status.js';
import { createInboxStore } from '../../src/wiring/feed.js';
import { startAll, type Running } from '../../src/wiring/start-all.js';
import type { WorkerRole } from '../../src/wiring/workers.js';
import { createTestDatabase, startTestRedis, type TestRedis } from './services.js';
import { postGraphql, type GraphqlAnswer } from './tiny-subgraphs.js';

export type Line = Readonly<Record<string, unknown>>;

/** A process that works beside the stack. */
export interface WorkerProcess {
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
}

/** The whole product on stores of its own, asked through its gateway. */
export interface Stack {
  readonly app: App;
  readonly running: Running;
  readonly redis: TestRedis;
  /** Of the gateway, without /graphql. */
  readonly url: string;
  /** For processes beside it. */
  readonly environment: Readonly<Record<string, string>>;
  tokenFor(userId: string | bigint, options?: { admin?: boolean }): Promise<string>;
  /** @param token of the viewer; left out: nobody is signed in */
  post(query: string, variables?: object, token?: string): Promise<GraphqlAnswer>;
  /** The data of an operation as this user. @throws with the errors when there are any */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the assertions are the type check
  ask(userId: string | bigint, query: string, variables?: object): Promise<any>;
  /** The code of the first error of an operation as this user; 'none' when it succeeds. */
  codeOf(userId: string | bigint, query: string, variables?: object): Promise<string>;
  importAll(lines: readonly Line[], options?: ImportOptions): Promise<ImportSummary>;
  /** What the inbox holds, newest first; null when there is none. */
  inboxOf(userId: string | bigint): Promise<readonly Entry[] | null>;
  /** Rows of every table that a request may change, and events that were written. */
  countAll(): Promise<Record<string, number>>;
  /** Ends all processes of the product and starts them on the same stores, with other settings. */
  restart(changed?: Readonly<Record<string, string>>): Promise<void>;
  /** Starts workers of these roles in a process of their own. */
  startWorkers(roles: readonly WorkerRole[]): Promise<WorkerProcess>;
  /** Waits until everything published is delivered, counts are projected, queues are empty and no inbox is being rebuilt. */
  drain(options?: { deadlineMs?: number }): Promise<void>;
  close(): Promise<void>;
}

/** Where the timeline's sources are: this project's own tables, or its own social subgraph as if it were a foreign one. */
export const hasRemoteSources = process.env['TIDELINE_TEST_SOURCES'] === 'remote';

/** The inbox stores that a suite runs on; where the details come from is the same to both. */
export const INBOX_STORES = hasRemoteSources ? ['redis-packed'] : ['redis-packed', 'redis-zset', 'postgres'];

export interface StackOptions {
  readonly clock?: Clock;
  /** The workers in this process; all by default. */
  readonly roles?: readonly WorkerRole[];
}

const POLL_MS = 15;
const DRAIN_MS = 20_000;

const ANY_PORT = { GATEWAY_PORT: '0', TIMELINE_PORT: '0', SOCIAL_PORT: '0', OPS_PORT: '0' };

/** @param settings as in the environment */
export async function startStack(
  settings: Readonly<Record<string, string>> = {},
  { clock, roles }: StackOptions = {},
): Promise<Stack> {
  const [database, redis] = await Promise.all([createTestDatabase(), startTestRedis()]);
  const stores = { DATABASE_URL: database.databaseUrl, REDIS_URL: redis.redisUrl };
  const sources = hasRemoteSources ? await ownSocialAsSources() : {};
  const base = { NODE_ENV: 'test', LOG_LEVEL: 'silent', ...ANY_PORT, ...sources };
  const env: Record<string, string> = { ...base, ...settings, ...stores };
  let current = await open(env);
  const workers = new Set<ChildProcess>();
  const tokens = new Map<string, Promise<string>>();

  const stack: Stack = {
    get app() {
      return current.app;
    },
    get running() {
      return current.running;
    },
    get url() {
      return current.running.gateway.url;
    },
    redis,
    environment: env,
    tokenFor(userId, { admin = false } = {}) {
      const key = `${userId} ${admin}`;
      const token = tokens.get(key) ?? mintToken(current.app.config, BigInt(userId), { admin });
      tokens.set(key, token);
      return token;
    },
    post: (query, variables, token) =>
      postGraphql(stack.url, query, { ...(variables && { variables }), ...(token !== undefined && { token }) }),
    async ask(userId, query, variables) {
      const { body } = await stack.post(query, variables, await stack.tokenFor(userId));
      if (body.errors) throw new Error(`${query} ${JSON.stringify(variables)}: ${JSON.stringify(body.errors)}`);
      return body.data;
    },
    async codeOf(userId, query, variables) {
      const { body } = await stack.post(query, variables, await stack.tokenFor(userId));
      return body.errors?.[0]?.extensions.code ?? 'none';
    },
    importAll(lines, options) {
      const text = lines.map((line) => JSON.stringify(line)).join('\n');
      return importLines(current.app, splitLines(Readable.from([Buffer.from(text)])), options);
    },
    async inboxOf(userId) {
      const page = await createInboxStore(current.app).read(BigInt(userId), {
        from: null,
        direction: 'older',
        limit: 100_000,
      });
      return page.head && page.entries;
    },
    async countAll() {
      const { pool } = current.app.database;
      const { rows } = await pool.query<Record<string, string>>(
        `SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM fanouts) AS fanouts,
           (SELECT count(*) FROM content_counters) AS counters, (SELECT count(*) FROM activity) AS activity`,
      );
      const numbers = Object.entries(rows[0]!).map(([name, count]) => [name, Number(count)] as const);
      return { ...(await countRows(pool)), ...Object.fromEntries(numbers) };
    },
    async restart(changed = {}) {
      await current.app.close();
      Object.assign(env, changed);
      current = await open(env);
    },
    async startWorkers(workerRoles) {
      const child = spawn(
        process.execPath,
        ['--import', './scripts/lib/register-typescript.mjs', 'workers/worker.ts'],
        {
          env: { ...process.env, NODE_OPTIONS: '', ...env, LOG_LEVEL: 'info', WORKER_ROLES: workerRoles.join(',') },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
      workers.add(child);
      child.once('exit', () => workers.delete(child));
      await untilSaid(child, '"msg":"started"');
      return { kill: () => killProcess(child) };
    },
    async drain({ deadlineMs = DRAIN_MS } = {}) {
      const deadline = Date.now() + deadlineMs;
      for (;;) {
        const state = await readWork();
        if (state.failed > 0) throw new Error(`tasks have failed for good: ${JSON.stringify(state)}`);
        if (Object.values(state).every((count) => count === 0)) return;
        if (Date.now() > deadline) throw new Error(`not drained within ${deadlineMs} ms: ${JSON.stringify(state)}`);
        await pause(POLL_MS);
      }
    },
    async close() {
      await Promise.all([...workers].map(killProcess));
      await current.app.close();
      await redis.stop();
      await database.drop();
    },
  };
  return stack;

  async function open(environment: Readonly<Record<string, string>>) {
    const app = await openApp(readConfig(environment), { name: 'test', ...(clock && { clock }) });
    return { app, running: await startAll(app, roles ? { roles } : {}) };
  }

  /** What is left to do, all zero when idle. */
  async function readWork() {
    const { pool } = current.app.database;
    const { queues } = current.running.workers;
    const { fanouts } = await readDeliveryState(pool);
    const { rows } = await pool.query<{ n: string; changes: string }>(
      `SELECT count(*) AS n, (SELECT count(*) FROM counter_changes) AS changes FROM events WHERE relayed_at IS NULL`,
    );
    const states = ['wait', 'prioritized', 'active', 'delayed'] as const;
    const [events, tasks] = await Promise.all([
      queues.contentEvents.getJobCounts(...states),
      queues.pushTasks.getJobCounts(...states),
    ]);
    const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0);
    await new Promise(setImmediate);
    return {
      failed: fanouts.FAILED,
      unfinished: fanouts.PENDING + fanouts.RUNNING,
      removals: (await listRemovals(pool, 1)).length,
      unrelayed: Number(rows[0]!.n),
      unprojected: Number(rows[0]!.changes),
      eventJobs: sum(events),
      taskJobs: sum(tasks),
      // A rebuild holds a connection from the moment it is asked for until it ends.
      connections: pool.totalCount - pool.idleCount + pool.waitingCount,
    };
  }
}

async function ownSocialAsSources(): Promise<Record<string, string>> {
  const port = String(await findFreePort());
  const url = `http://127.0.0.1:${port}/graphql`;
  return { SOCIAL_PORT: port, CONTENT_SOURCE_URL: url, USER_SOURCE_URL: url, COUNTER_SOURCE_URL: url };
}

async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** @throws with all that it said when the process ends before. */
export async function untilSaid(child: ChildProcess, text: string): Promise<string> {
  let said = '';
  return new Promise((resolve, reject) => {
    const onData = (chunk: Buffer): void => {
      said += String(chunk);
      if (said.includes(text)) resolve(said);
    };
    child.stdout?.on('data', onData);
    child.stderr?.on('data', onData);
    child.once('exit', (code, signal) => {
      reject(new Error(`ended (${code ?? String(signal)}) without saying ${text}: ${said}`));
    });
  });
}

export const user = (id: string, more: Line = {}): Line => ({
  kind: 'user',
  id,
  handle: `h${id}`,
  displayName: `Name ${id}`,
  ...more,
});
export const follow = (follower: string, followee: string): Line => ({ kind: 'follow', follower, followee });
export const content = (id: string, author: string, publishTime: number, more: Line = {}): Line => ({
  kind: 'content',
  id,
  author,
  publishTime,
  text: `Post ${id}`,
  ...more,
});

const PAGE = `query ($first: Int, $after: String, $last: Int, $before: String) {
  timelineFeed(first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { contentId publishTime } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    emptyReason
    isComplete
  }
}`;

export interface PageArgs {
  readonly first?: number;
  readonly after?: string | null;
  readonly last?: number;
  readonly before?: string | null;
}

export interface Page {
  readonly edges: readonly { cursor: string; node: { contentId: string; publishTime: string } }[];
  readonly pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
  readonly emptyReason: string | null;
  readonly isComplete: boolean;
}

export const readPage = async (stack: Stack, userId: string | bigint, args: PageArgs = {}): Promise<Page> =>
  (await stack.ask(userId, PAGE, args)).timelineFeed;

export const idsOf = (page: Page): string[] => page.edges.map(({ node }) => node.contentId);

const PAGES_MAX = 1_000;

/** The scroll from the newest post to the end, page by page. */
export async function walkFeed(stack: Stack, userId: string | bigint, first: number): Promise<Page[]> {
  const pages: Page[] = [];
  for (let after: string | null = null; pages.length < PAGES_MAX;) {
    const page: Page = await readPage(stack, userId, { first, after });
    pages.push(page);
    if (!page.pageInfo.hasNextPage) return pages;
    after = page.pageInfo.endCursor;
  }
  throw new Error(`the feed of ${userId} does not end within ${PAGES_MAX} pages`);
}
