import { setTimeout as pause } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { waitUntil } from '../../src/embedded/processes.js';
import { PUSH_QUEUE, pushTaskOptions } from '../../src/jobs/catalog.js';
import { queuePrefix } from '../../src/jobs/queues.js';
import type { Pool } from '../../src/stores/database.js';
import { createRandom } from '../harness/graphs.js';
import { ROLES, type Fleet, type Member } from './fleet.js';
import type { Routes } from './routes.js';
import type { ChaosServers } from './servers.js';

export interface FaultSettings {
  readonly seed: number;
  /** No fault begins after this. */
  readonly seconds: number;
  /** These kinds alone; null: all. */
  readonly only: readonly string[] | null;
  /** Between two faults of one lane, from and to. */
  readonly gapMs: readonly [number, number];
  /** A lane that waits for a sign of life, which is a post delivered everywhere, waits no longer than this. */
  readonly recoveryMaxMs: number;
  /** How long a fault lasts that has a length. */
  readonly holdMs: readonly [number, number];
  /** A pause of the network lasts longer than this. */
  readonly lockMs: number;
  readonly keyPrefix: string;
}

interface World {
  readonly servers: ChaosServers;
  readonly routes: Routes;
  readonly fleet: Fleet;
  readonly pool: Pool;
}

/** Numbers of one lane, the same for the same seed. */
interface Dice {
  between(range: readonly [number, number]): number;
  pick<T>(items: readonly T[]): T;
}

type Fault = (world: World, dice: Dice, settings: FaultSettings) => Promise<void>;

/** What happens to the stores, one thing at a time. */
const storeFaults: Readonly<Record<string, Fault>> = {
  'redis restarted': ({ servers }) => servers.redis.restart({ keepData: true }),
  'redis killed, data kept': ({ servers }, dice, { holdMs }) =>
    servers.redis.restart({ keepData: true, crash: { awayMs: dice.between(holdMs) } }),
  'redis killed, data lost': ({ servers }, dice, { holdMs }) =>
    servers.redis.restart({ keepData: false, crash: { awayMs: dice.between(holdMs) } }),
  'redis emptied': async ({ servers }) => {
    await withRedis(servers, (redis) => redis.flushall());
  },
  'redis replica behind': async ({ servers, routes, pool }, dice, { holdMs }) => {
    await servers.redis.failOver(async () => {
      const [before] = await Promise.all([countDone(pool), pause(dice.between(holdMs))]);
      // Behind means that it lacks something.
      await waitUntil(async () => (await countDone(pool)) > before, BEHIND_MAX_MS, 20);
    });
    routes.follow();
  },
  'redis stopped for a while': async ({ servers }, dice, { holdMs }) => {
    const pid = servers.redis.pid();
    process.kill(pid, 'SIGSTOP');
    await pause(dice.between(holdMs));
    process.kill(pid, 'SIGCONT');
  },
  'postgres restarted': async ({ servers, routes }) => {
    await servers.postgres.restart('fast');
    routes.follow();
  },
  'postgres crashed': async ({ servers, routes }) => {
    await servers.postgres.restart('crash');
    routes.follow();
  },
};

/** What happens to processes and to their network, beside the former. */
const processFaults: Readonly<Record<string, Fault>> = {
  ...Object.fromEntries(
    ROLES.map((role): [string, Fault] => [
      `${role} killed`,
      async ({ fleet }, dice) => dice.pick(fleet.workers.filter(({ name }) => name === role)).end('SIGKILL'),
    ]),
  ),
  'worker told to stop': ({ fleet }, dice) => dice.pick(fleet.workers).end('SIGTERM'),
  'reader killed': ({ fleet }, dice) => dice.pick(readersOf(fleet)).end('SIGKILL'),
  'network to redis paused': ({ fleet }, dice, settings) => pauseNetwork(fleet, dice, settings, ['redis']),
  'network to postgres paused': ({ fleet }, dice, settings) => pauseNetwork(fleet, dice, settings, ['postgres']),
  'network paused': ({ fleet }, dice, settings) => pauseNetwork(fleet, dice, settings, ['redis', 'postgres']),
  'network cut': async ({ fleet }, dice, { holdMs }) => {
    const { route } = dice.pick([...fleet.workers, ...readersOf(fleet)]);
    route.redis.cut();
    route.postgres.cut();
    await pause(dice.between(holdMs));
    route.redis.mend();
    route.postgres.mend();
  },
  'poison task': ({ servers }, _, { keyPrefix }) =>
    withRedis(servers, async (connection) => {
      const queue = new Queue(PUSH_QUEUE, { connection, prefix: queuePrefix(keyPrefix) });
      await queue.add('push', { v: 1, contentId: '1', userIds: 'nobody' }, pushTaskOptions(3));
      await queue.close();
    }),
};

/** Nothing may be delivered at all at the moment. */
const BEHIND_MAX_MS = 5_000;

export const FAULT_KINDS: readonly string[] = [...Object.keys(storeFaults), ...Object.keys(processFaults)];

/**
 * Injects faults on two lanes until the time is over, and counts them by kind. Every kind has its turn, for which a short
 * time is prolonged.
 */
export async function injectFaults(
  world: World,
  settings: FaultSettings,
  say: (text: string) => void,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const endAt = Date.now() + 1_000 * settings.seconds;
  const runLane = async (faults: Readonly<Record<string, Fault>>, seed: number): Promise<void> => {
    const dice = createDice(seed);
    const kinds = Object.keys(faults).filter((kind) => settings.only?.includes(kind) ?? true);
    if (kinds.length === 0) return;
    for (let bag: string[] = []; ;) {
      const before = await countDone(world.pool);
      await pause(dice.between(settings.gapMs));
      // Ill-treating what is down already would say little.
      await waitUntil(async () => (await countDone(world.pool)) > before, settings.recoveryMaxMs, 20);
      if (Date.now() >= endAt && kinds.every((kind) => kind in counts)) return;
      if (bag.length === 0) bag = [...kinds];
      const kind = dice.pick(bag);
      bag.splice(bag.indexOf(kind), 1);
      say(kind);
      await faults[kind]?.(world, dice, settings);
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
  };
  await Promise.all([runLane(storeFaults, 2 * settings.seed), runLane(processFaults, 2 * settings.seed + 1)]);
  return counts;
}

function createDice(seed: number): Dice {
  const random = createRandom(seed);
  return {
    between: ([from, to]) => from + random(to - from),
    pick: <T>(items: readonly T[]): T => items[random(items.length)] as T,
  };
}

const readersOf = ({ clients }: Fleet): Member[] => clients.filter(({ name }) => name.endsWith('reader.ts'));

/** Longer than a job's lock: the job goes to another worker, and this one comes back to it as well. */
async function pauseNetwork(
  { workers }: Fleet,
  dice: Dice,
  { lockMs, holdMs }: FaultSettings,
  stores: readonly ('redis' | 'postgres')[],
): Promise<void> {
  const { route } = dice.pick(workers);
  for (const store of stores) route[store].pause();
  await pause(lockMs + dice.between(holdMs));
  for (const store of stores) route[store].resume();
}

/** Fan-outs that are delivered; of a Postgres that is away nothing is known. */
async function countDone(pool: Pool): Promise<number> {
  const { rows } = await pool
    .query<{ done: string }>(`SELECT count(*) AS done FROM fanouts WHERE state = 'DONE'`)
    .catch(() => ({ rows: [] }));
  return Number(rows[0]?.done ?? 0);
}

async function withRedis<T>({ redis }: ChaosServers, work: (redis: Redis) => Promise<T>): Promise<void> {
  // Gives up when the other lane has the server away.
  const client = new Redis(redis.url(), { maxRetriesPerRequest: 1, commandTimeout: 5_000 });
  client.on('error', () => undefined);
  await work(client).catch(() => undefined);
  client.disconnect();
}
