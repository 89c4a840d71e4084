import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { root } from './stamps.mjs';

/**
 * Gives an empty database to `use` and removes it afterwards: on TEST_DATABASE_URL where one is set, else in a Postgres
 * of its own under .data/test, where the next `npm test` cleans up after a killed run.
 */
export async function withScratchDatabase(use, log) {
  const server = process.env.TEST_DATABASE_URL;
  return server ? useGivenServer(server, use) : useOwnServer(use, log);
}

async function useGivenServer(server, use) {
  const name = `tideline_scratch_${randomBytes(6).toString('hex')}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  await runSql(server, `CREATE DATABASE ${name}`);
  try {
    return await use(url.href);
  } finally {
    await runSql(server, `DROP DATABASE ${name} WITH (FORCE)`);
  }
}

async function useOwnServer(use, log) {
  const { startEmbeddedPostgres } = await import('../../src/embedded/postgres.ts');
  const { discardDataDir } = await import('../../src/embedded/discard.ts');
  const { takeStartLock } = await import('../../src/embedded/start-lock.ts');
  const parent = path.join(root, '.data/test');
  mkdirSync(parent, { recursive: true });
  const dataDir = mkdtempSync(path.join(parent, 'run-'));
  // mkdtemp closes it to the account that Postgres runs as when this runs as root.
  chmodSync(dataDir, 0o755);
  takeStartLock(dataDir);
  const endOn = (code) => () => void discardDataDir(dataDir, log).finally(() => process.exit(code));
  process.once('SIGINT', endOn(130)).once('SIGTERM', endOn(143));
  try {
    const { url } = await startEmbeddedPostgres({ dataDir, log, durable: false });
    return await use(url);
  } finally {
    await discardDataDir(dataDir, log);
  }
}

async function runSql(url, sql) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
