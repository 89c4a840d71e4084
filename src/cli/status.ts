import { readdirSync } from 'node:fs';
import type { Command } from 'commander';
import { messageOf } from '../domain/errors.js';
import { openQueues } from '../jobs/queues.js';
import { findProjectFile } from '../project-files.js';
import { readRelayBacklog } from '../stores/relay-events.js';
import { countRows, listFailedTasks, readAppliedMigrations, readDeliveryState, readPolicy } from '../stores/status.js';
import { formatTable } from './format-table.js';
import { withServices, type CommandServices } from './with-services.js';

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('show services, migrations, row counts, delivery and queues')
    .option('--json', 'for programs')
    .action(async ({ json }: { json?: boolean }) => {
      const status = await withServices({ migrate: false }, readStatus);
      console.log(json ? JSON.stringify(status, null, 2) : describe(status));
    });
}

type Status = Awaited<ReturnType<typeof readStatus>>;

const FAILED_TASKS_MAX = 20;

async function readStatus({ app, origin }: CommandServices) {
  const { config, database, clock } = app;
  const { pool } = database;
  const applied = await readAppliedMigrations(pool);
  const migrations = { applied: applied ?? [], pending: listMigrations().filter((name) => !applied?.includes(name)) };
  const services = { origin, database: hostOf(config.DATABASE_URL), redis: hostOf(config.REDIS_URL) };
  const queues = await readQueues(app);
  // Tables of a database that is not up to date may be missing.
  if (migrations.pending.length > 0) return { services, migrations, queues };
  const backlog = await readRelayBacklog(pool);
  return {
    services,
    migrations,
    rows: await countRows(pool),
    policy: await readPolicy(pool),
    relay: {
      waiting: backlog.length,
      oldestSeconds: backlog.oldestAt && (clock() - backlog.oldestAt.getTime()) / 1_000,
    },
    fanouts: (await readDeliveryState(pool)).fanouts,
    failedTasks: await listFailedTasks(pool, FAILED_TASKS_MAX),
    queues,
  };
}

/** Jobs by queue and state. BullMQ's connection waits for ever, so the other one is asked first whether Redis is there. */
async function readQueues({
  redis,
  queueRedis,
  config,
  log,
}: CommandServices['app']): Promise<Record<string, string | Record<string, number>>> {
  try {
    await redis.ping();
  } catch (error) {
    return { error: `Redis cannot be reached: ${messageOf(error)}` };
  }
  const queues = openQueues(queueRedis, config.REDIS_KEY_PREFIX, (error) => {
    log.warn({ error: error.message }, 'queue');
  });
  try {
    const named = [queues.contentEvents, queues.pushTasks];
    return Object.fromEntries(
      await Promise.all(named.map(async (queue) => [queue.name, await queue.getJobCounts()] as const)),
    );
  } finally {
    await queues.close();
  }
}

const listMigrations = (): string[] =>
  readdirSync(findProjectFile('prisma/migrations'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();

/** Without user and password. */
const hostOf = (url: string): string => {
  const { host, pathname } = new URL(url);
  return host + pathname;
};

function describe(status: Status): string {
  const { services, migrations, queues } = status;
  const origins = {
    given: 'given by their URLs',
    running: 'of the running npm start',
    own: 'started for this command',
  };
  const parts = [
    `services    ${origins[services.origin]}\n  postgres  ${services.database}\n  redis     ${services.redis}`,
    `migrations  ${migrations.applied.length} applied, ${migrations.pending.join(', ') || 'none'} pending`,
  ];
  if (status.rows) {
    const { rows, policy, relay, fanouts, failedTasks } = status;
    const age = relay.oldestSeconds === null ? '' : `, the oldest for ${relay.oldestSeconds.toFixed(1)} s`;
    parts.push(
      `policy      epoch ${policy?.epoch}, FEED_MODE=${policy?.feedMode}, INBOX_STORE=${policy?.inboxStore || '(none yet)'}`,
      section('rows', rows),
      `relay       ${relay.waiting} events waiting${age}`,
      section('fan-outs', fanouts),
    );
    for (const { contentId, taskNo, deliveredCount, targetCount, error } of failedTasks) {
      parts.push(
        `  failed: content ${contentId} task ${taskNo}, ${deliveredCount} of ${targetCount} delivered: ${error}`,
      );
    }
  }
  for (const [name, jobs] of Object.entries(queues)) {
    if (typeof jobs === 'string') parts.push(`queues      ${jobs}`);
    else parts.push(`queue ${name}: ${listCounts(jobs) || 'empty'}`);
  }
  return parts.join('\n');
}

const listCounts = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .filter(([, number]) => number > 0)
    .map(([state, number]) => `${number} ${state}`)
    .join(', ');

const section = (title: string, counts: Readonly<Record<string, number>>): string =>
  [
    title,
    ...formatTable(Object.entries(counts))
      .split('\n')
      .map((line) => `  ${line}`),
  ].join('\n');
