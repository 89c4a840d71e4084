import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { stopProcess, waitUntil } from '../../src/embedded/processes.js';
import { migrateDatabase } from '../../src/stores/migrate.js';
import { startProxy } from '../harness/proxy.js';
import { startRedisServer, type TestRedis } from '../harness/redis-server.js';
import { prepareRedis, withPrivateFolder } from '../load/private-services.js';

/** A Postgres and a Redis to be ill-treated. Whoever uses them goes through routes.ts, since their addresses change. */
export interface ChaosServers {
  readonly postgres: {
    readonly url: () => string;
    /** `fast` ends sessions and says good-bye, `crash` leaves recovery to the next start. */
    restart(how: 'fast' | 'crash'): Promise<void>;
  };
  readonly redis: {
    readonly url: () => string;
    readonly pid: () => number;
    /** @param crash SIGKILL and this long nothing, instead of a restart in order */
    restart(options: { keepData: boolean; crash?: { awayMs: number } }): Promise<void>;
    /** A real replica takes over that has not heard of the primary while `fallBehind` lasted. */
    failOver(fallBehind: () => Promise<unknown>): Promise<void>;
  };
  discard(): Promise<void>;
}

export const startChaosServers = (): Promise<ChaosServers> =>
  withPrivateFolder(async (dataDir, discard) => ({
    postgres: await startPostgres(dataDir),
    redis: await startRedis(join(dataDir, 'servers')),
    discard,
  }));

async function startPostgres(dataDir: string): Promise<ChaosServers['postgres']> {
  // Durable: a crash must not take back what was acknowledged.
  const start = () => startEmbeddedPostgres({ dataDir, log: silentLog, durable: true });
  let server = await start();
  await migrateDatabase({ databaseUrl: server.url, log: silentLog });
  return {
    url: () => server.url,
    async restart(how) {
      if (how === 'fast') await server.stop();
      else await stopProcess(server.pid, [{ signal: 'SIGQUIT', waitMs: 10_000 }]);
      server = await start();
    },
  };
}

async function startRedis(serversDir: string): Promise<ChaosServers['redis']> {
  const binary = await prepareRedis();
  // All have one password, as the members of one deployment do.
  const password = randomBytes(18).toString('base64url');
  let nodes = 0;
  const startNode = (): Promise<TestRedis> => {
    nodes += 1;
    const dataDir = join(serversDir, `redis-${String(nodes)}`);
    mkdirSync(dataDir, { recursive: true });
    return startRedisServer({ dataDir, binary, password });
  };
  let primary = await startNode();
  return {
    url: () => primary.redisUrl,
    pid: () => primary.pid as number,
    async restart({ keepData, crash }) {
      if (crash) {
        await primary.kill();
        await pause(crash.awayMs);
      }
      await primary.restart(keepData);
    },
    async failOver(fallBehind) {
      const replica = await startNode();
      const promote = await replicate(primary.redisUrl, replica.redisUrl, password);
      await fallBehind();
      await primary.kill();
      await promote();
      primary = replica;
    },
  };
}

/** Copies the primary to the replica and cuts the link then. The returned function makes the replica a primary. */
async function replicate(primaryUrl: string, replicaUrl: string, password: string): Promise<() => Promise<void>> {
  const [from, to, link] = [new Redis(primaryUrl), new Redis(replicaUrl), await startProxy(primaryUrl)];
  try {
    // Waits for further replicas otherwise.
    await from.config('SET', 'repl-diskless-sync-delay', '0');
    await to.config('SET', 'masterauth', password);
    await to.replicaof('127.0.0.1', new URL(link.url).port);
    const isCopied = await waitUntil(async () => /master_link_status:up/.test(await to.info()), SYNC_TIMEOUT_MS, 20);
    if (!isCopied) throw new Error('the replica does not catch up');
  } finally {
    from.disconnect();
    link.cut();
  }
  return async () => {
    await to.replicaof('NO', 'ONE');
    to.disconnect();
    await link.close();
  };
}

const SYNC_TIMEOUT_MS = 20_000;

/** Nothing that happens to these servers is news. */
const silentLog = { info: () => undefined, warn: () => undefined, error: () => undefined };
