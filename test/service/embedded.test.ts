import { afterAll, describe, expect, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import pg from 'pg';
import { discardDataDir } from '../../src/embedded/discard.js';
import { startEmbeddedPostgres } from '../../src/embedded/postgres.js';
import { isProcessAlive } from '../../src/embedded/processes.js';
import { ensureServices, findRunningServices } from '../../src/embedded/services.js';
import { startTestRedis } from '../harness/services.js';

const messages: string[] = [];
const log = { info: keep, warn: keep, error: keep };
const folders: string[] = [];
// The unpacked redis-server is shared with the run, so that no data folder fetches its own.
process.env['REDIS_SERVER_BIN'] = writeRedisLauncher();

afterAll(async () => {
  for (const folder of folders) await discardDataDir(folder, log);
});

describe('embedded Postgres', () => {
  test('keeps its data from one start to the next and listens on loopback only', async () => {
    const dataDir = makeDataDir();
    const first = await startEmbeddedPostgres({ dataDir, log, durable: false });
    expect(new URL(first.url).hostname).toBe('127.0.0.1');
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n');
    expect(await query(first.url, 'SHOW listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }]);
    await first.stop();
    expect(isProcessAlive(first.pid)).toBe(false);
    const second = await startEmbeddedPostgres({ dataDir, log, durable: false });
    expect(await query(second.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    await second.stop();
  });

  test('replaces a Postgres that an earlier start left running with other settings', async () => {
    const dataDir = makeDataDir();
    const first = await startEmbeddedPostgres({ dataDir, log, durable: false });
    const second = await startEmbeddedPostgres({ dataDir, log, durable: true });
    expect(second.isAdopted).toBe(false);
    expect(isProcessAlive(first.pid)).toBe(false);
    expect(await query(second.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }]);
    await second.stop();
  });

  test('a pid file that names a living stranger does not block the start, and the stranger lives on', async () => {
    const dataDir = makeDataDir();
    const first = await startEmbeddedPostgres({ dataDir, log, durable: false });
    const pidFile = join(dataDir, 'postgres', 'pgdata', 'postmaster.pid');
    const content = readFileSync(pidFile, 'utf8');
    await first.stop();
    const stranger = spawn('sleep', ['60']);
    writeFileSync(pidFile, content.replace(/^\d+/, String(stranger.pid)));
    const second = await startEmbeddedPostgres({ dataDir, log, durable: false });
    expect(stranger.exitCode).toBeNull();
    stranger.kill();
    await second.stop();
  });

  test('the password is needed, random and readable by its owner only', async () => {
    const dataDir = makeDataDir();
    const server = await startEmbeddedPostgres({ dataDir, log, durable: false });
    const open = new URL(server.url);
    open.password = 'wrong';
    await expect(query(open.href, 'SELECT 1')).rejects.toThrow('password authentication failed');
    expect(statSync(join(dataDir, 'postgres', 'password')).mode & 0o777).toBe(0o600);
    await server.stop();
  });
});

describe('services of a start', () => {
  test('adopts a Postgres and a Redis that a killed start left running, with their data', async () => {
    const dataDir = makeDataDir();
    const killed = await startInChild(dataDir);
    await query(killed.databaseUrl, 'CREATE TABLE kept AS SELECT 7 AS n');
    await withRedis(killed.redisUrl, (redis) => redis.set('kept', '7'));
    await killed.kill();
    expect(findRunningServices(dataDir)).toBeNull();

    const services = await ensureServices({ dataDir, log });
    expect(services.embedded.postgres?.isAdopted).toBe(true);
    expect(services.embedded.redis?.isAdopted).toBe(true);
    expect(await query(services.databaseUrl, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    expect(await withRedis(services.redisUrl, (redis) => redis.get('kept'))).toBe('7');
    await services.stop();
  });

  test('starts again after everything was killed at once, Redis data included', async () => {
    const dataDir = makeDataDir();
    const killed = await startInChild(dataDir);
    await query(killed.databaseUrl, 'CREATE TABLE kept AS SELECT 7 AS n');
    await withRedis(killed.redisUrl, (redis) => redis.set('kept', '7'));
    await killed.kill();
    for (const pid of [killed.postgresPid, killed.redisPid]) process.kill(pid, 'SIGKILL');

    const services = await ensureServices({ dataDir, log });
    expect(await query(services.databaseUrl, 'SELECT n FROM kept')).toEqual([{ n: 7 }]);
    expect(await withRedis(services.redisUrl, (redis) => redis.get('kept'))).toBe('7');
    await services.stop();
  });

  test('a second start on the same data folder is refused and told which process has it', async () => {
    const dataDir = makeDataDir();
    const services = await ensureServices({ dataDir, log });
    await expect(ensureServices({ dataDir, log })).rejects.toThrow(`in use by process ${process.pid}`);
    await services.stop();
    const again = await ensureServices({ dataDir, log });
    await again.stop();
  });

  test('the CLI finds running services and their addresses, and none after the stop', async () => {
    const dataDir = makeDataDir();
    const services = await ensureServices({ dataDir, log });
    services.publishUrls({ gateway: 'http://127.0.0.1:4000/graphql' });
    expect(findRunningServices(dataDir)).toEqual({
      pid: process.pid,
      databaseUrl: services.databaseUrl,
      redisUrl: services.redisUrl,
      urls: { gateway: 'http://127.0.0.1:4000/graphql' },
    });
    expect(statSync(join(dataDir, 'running.json')).mode & 0o777).toBe(0o600);
    await services.stop();
    expect(findRunningServices(dataDir)).toBeNull();
    expect(existsSync(join(dataDir, 'start.lock'))).toBe(false);
  });

  test('a server whose URL is given is neither started nor stopped', async () => {
    const given = await startTestRedis();
    const dataDir = makeDataDir();
    const databaseUrl = process.env['TIDELINE_TEST_PG_URL']!;
    const services = await ensureServices({ dataDir, log, databaseUrl, redisUrl: given.redisUrl });
    expect(services.embedded).toEqual({ postgres: null, redis: null });
    expect(services).toMatchObject({ databaseUrl, redisUrl: given.redisUrl });
    await services.stop();
    expect(await withRedis(given.redisUrl, (redis) => redis.ping())).toBe('PONG');
    await given.stop();
  });
});

describe('embedded Redis', () => {
  test('runs with noeviction, an append-only file and a password, on loopback', async () => {
    const server = await startTestRedis();
    const settings = await withRedis(server.redisUrl, async (redis) =>
      Promise.all(['maxmemory-policy', 'appendonly', 'bind'].map(async (name) => redis.config('GET', name))),
    );
    expect(settings).toEqual([
      ['maxmemory-policy', 'noeviction'],
      ['appendonly', 'yes'],
      ['bind', '127.0.0.1'],
    ]);
    const open = new URL(server.redisUrl);
    open.password = '';
    await expect(withRedis(open.href, (redis) => redis.get('x'))).rejects.toThrow('NOAUTH');
    await server.stop();
  });

  test('starts in less than half a second, and a restart keeps its address and what it was asked to keep', async () => {
    const began = performance.now();
    const server = await startTestRedis();
    expect(performance.now() - began).toBeLessThan(500);
    await withRedis(server.redisUrl, (redis) => redis.set('kept', '7'));
    await server.kill();
    await server.restart();
    expect(await withRedis(server.redisUrl, (redis) => redis.get('kept'))).toBe('7');
    await server.restart(false);
    expect(await withRedis(server.redisUrl, (redis) => redis.get('kept'))).toBeNull();
    await server.stop();
  });

  test('a stranger on the port of an earlier start is left alone', async () => {
    const dataDir = makeDataDir();
    const first = await ensureServices({ dataDir, log, databaseUrl: process.env['TIDELINE_TEST_PG_URL'] });
    const port = Number(new URL(first.redisUrl).port);
    await first.stop();
    const stranger = createServer((socket) => socket.resume().end('-ERR not yours\r\n')).listen(port, '127.0.0.1');
    const second = await ensureServices({ dataDir, log, databaseUrl: process.env['TIDELINE_TEST_PG_URL'] });
    expect(stranger.listening).toBe(true);
    expect(new URL(second.redisUrl).port).not.toBe(String(port));
    await second.stop();
    await new Promise((resolve) => stranger.close(resolve));
  });
});

function keep(message: string): void {
  messages.push(message);
}

function makeDataDir(): string {
  const dataDir = mkdtempSync(join(process.env['TIDELINE_TEST_DIR']!, 'servers', 'embedded-'));
  // Open to the account that Postgres runs as when the tests run as root.
  chmodSync(dataDir, 0o755);
  folders.push(dataDir);
  return dataDir;
}

function writeRedisLauncher(): string {
  const path = join(makeDataDir(), 'redis-server');
  const library = process.env['TIDELINE_TEST_REDIS_LIB'];
  const set = library ? `LD_LIBRARY_PATH='${library}' ` : '';
  writeFileSync(path, `#!/bin/sh\n${set}exec '${process.env['TIDELINE_TEST_REDIS_BIN']}' "$@"\n`, { mode: 0o755 });
  return path;
}

/** A start in a process of its own, which can be killed as a user or the system would. */
async function startInChild(dataDir: string) {
  const services = pathToFileURL(join(process.cwd(), 'src/embedded/services.ts')).href;
  const script = `
    const { ensureServices } = await import(${JSON.stringify(services)});
    const log = { info() {}, warn() {}, error() {} };
    const { databaseUrl, redisUrl, embedded } = await ensureServices({ dataDir: ${JSON.stringify(dataDir)}, log });
    process.send({ databaseUrl, redisUrl, postgresPid: embedded.postgres.pid, redisPid: embedded.redis.pid });
    setInterval(() => undefined, 1000);`;
  const hooks = join(process.cwd(), 'scripts/lib/register-typescript.mjs');
  const child = spawn(process.execPath, ['--import', hooks, '--input-type=module', '-e', script], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const started = await new Promise<{ databaseUrl: string; redisUrl: string; postgresPid: number; redisPid: number }>(
    (resolve, reject) => {
      child.once('message', (message) => resolve(message as never));
      child.once('exit', (code) => reject(new Error(`The start ended with ${code}.`)));
    },
  );
  return {
    ...started,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function withRedis<T>(url: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  // Commands reject with the same error.
  redis.on('error', () => undefined);
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}
