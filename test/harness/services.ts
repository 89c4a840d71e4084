import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startRedisServer, type TestRedis } from './redis-server.js';
import { withDatabase } from './template-database.js';

export type { TestRedis } from './redis-server.js';

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

/** A private Redis, in less than 0.3 s. Stop it at the end of the file. */
export async function startTestRedis(): Promise<TestRedis> {
  const dataDir = mkdtempSync(join(readEnvironment('TIDELINE_TEST_DIR'), 'servers', 'redis-'));
  const libraryPath = readEnvironment('TIDELINE_TEST_REDIS_LIB') || null;
  const binary = { path: readEnvironment('TIDELINE_TEST_REDIS_BIN'), libraryPath, version: '' };
  return startRedisServer({ dataDir, binary });
}

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
