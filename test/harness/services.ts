import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedRedis, type EmbeddedRedis } from '../../src/embedded/redis.js';
import { findFreePort } from '../../src/embedded/private-files.js';
import { harnessLog } from './harness-log.js';
import { withDatabase } from './template-database.js';

let databasesMade = 0;

/** A database of one's own with all migrations applied, in about 50 ms. Drop it at the end of the file. */
export async function createTestDatabase(): Promise<{ databaseUrl: string; drop(): Promise<void> }> {
  const template = readEnvironment('TIDELINE_TEST_TEMPLATE');
  return createDatabase(`TEMPLATE ${template}`);
}

/** A database without any table, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<{ databaseUrl: string; drop(): Promise<void> }> {
  return createDatabase('');
}

export type TestRedis = {
  redisUrl: string;
  stop(): Promise<void>;
  /** SIGKILL, as a crash does it. */
  kill(): Promise<void>;
  /** The same address and password again; without keepData it comes back empty. */
  restart(keepData?: boolean): Promise<void>;
};

/** A private Redis, in less than 0.3 s. Stop it at the end of the file. */
export async function startTestRedis(): Promise<TestRedis> {
  const dataDir = mkdtempSync(join(readEnvironment('TIDELINE_TEST_DIR'), 'servers', 'redis-'));
  const libraryPath = readEnvironment('TIDELINE_TEST_REDIS_LIB') || null;
  const binary = { path: readEnvironment('TIDELINE_TEST_REDIS_BIN'), libraryPath, version: '' };
  const start = (port?: number) =>
    startEmbeddedRedis({ dataDir, log: silentLog, persistent: true, binary, ...(port === undefined ? {} : { port }) });

  let server: EmbeddedRedis | null = await start(await findFreePort());
  const redisUrl = server.url;
  const stop = async () => {
    await server?.stop();
    server = null;
  };
  return {
    redisUrl,
    stop,
    async kill() {
      await server?.kill();
      server = null;
    },
    async restart(keepData = true) {
      await stop();
      if (!keepData) rmSync(join(dataDir, 'redis', 'appendonlydir'), { recursive: true, force: true });
      server = await start(Number(new URL(redisUrl).port));
    },
  };
}

// A test that kills its server expects the server to be gone.
const silentLog = { ...harnessLog, warn: () => undefined, error: () => undefined };

async function createDatabase(clause: string): Promise<{ databaseUrl: string; drop(): Promise<void> }> {
  const url = readEnvironment('TIDELINE_TEST_PG_URL');
  databasesMade += 1;
  // Files share a worker process one after the other, each with a counter of its own: the time keeps names apart.
  const unique = `${process.pid}_${Date.now().toString(36)}_${databasesMade}`;
  const name = `tideline_test_${readEnvironment('TIDELINE_TEST_RUN')}_${unique}`;
  await runAsAdmin(url, `CREATE DATABASE ${name} ${clause}`);
  return {
    databaseUrl: withDatabase(url, name),
    drop: () => runAsAdmin(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function runAsAdmin(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function readEnvironment(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run the tests through npm test, whose setup sets it.`);
  return value;
}
