import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Log } from './log.js';
import { preparePostgresHome, type PostgresHome } from './postgres-account.js';
import { findPostgresBinaries } from './postgres-binaries.js';
import { createCluster } from './postgres-cluster.js';
import { stopPostgres, takeOverLeftover } from './postgres-leftover.js';
import { startPostgresServer } from './postgres-server.js';
import { keepSecret, makeFolder } from './private-files.js';
import { isProcessAlive } from './processes.js';

export type EmbeddedPostgres = {
  url: string;
  pid: number;
  /** True when this start found the server running, left by a killed one. */
  isAdopted: boolean;
  stop(): Promise<void>;
};

export type EmbeddedPostgresOptions = {
  /** Its files lie in `<dataDir>/postgres`. One process at a time may call this for one folder: see start-lock.ts. */
  dataDir: string;
  log: Log;
  port?: number;
  /** False trades crash safety of the data for speed; for tests only. */
  durable?: boolean;
};

/**
 * Starts a private Postgres 17 on loopback, or adopts the one that a killed start left behind. The server has a process
 * group of its own, so that Ctrl-C reaches this process first and it can drain before the database stops.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log } = options;
  const binaries = findPostgresBinaries();
  const dataDir = realpathSync(makeFolder(options.dataDir));
  const home = preparePostgresHome(binaries, join(dataDir, 'postgres'), log);
  const pgdata = join(home.homeDir, 'pgdata');
  const password = keepSecret(join(home.homeDir, 'password'));
  const durable = options.durable ?? true;
  const settings = listSettings(durable);
  if (!existsSync(pgdata)) createCluster(home, pgdata, { password, durable });

  const wanted = options.port === undefined ? settings : [...settings, `-p ${options.port}`];
  const leftover = await takeOverLeftover(pgdata, { password, settings: wanted, log });
  if (leftover) log.info(`Adopted the Postgres that an earlier start left running (process ${leftover.pid}).`);
  const { pid, port } = leftover ?? (await startPostgresServer(home, pgdata, { settings, port: options.port, log }));

  await createDatabaseIfMissing(port, password);
  let isStopping = false;
  watchForLoss(pid, () => isStopping, home, log);
  return {
    url: `postgresql://tideline:${password}@127.0.0.1:${port}/tideline`,
    pid,
    isAdopted: leftover !== null,
    async stop() {
      isStopping = true;
      await stopPostgres(pid);
    },
  };
}

function listSettings(durable: boolean): string[] {
  const always = [
    'listen_addresses=127.0.0.1',
    // No socket file: its path length is limited and nothing here needs one.
    'unix_socket_directories=',
    'password_encryption=scram-sha-256',
    'max_connections=200',
    'shared_buffers=256MB',
    'max_wal_size=2GB',
    // Short queries only: compiling them costs more than it saves.
    'jit=off',
    'timezone=UTC',
    'log_timezone=UTC',
  ];
  const safety = durable
    ? ['fsync=on', 'synchronous_commit=on']
    : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'wal_level=minimal', 'max_wal_senders=0'];
  return [...always, ...safety];
}

async function createDatabaseIfMissing(port: number, password: string): Promise<void> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'tideline',
    password,
    database: 'postgres',
    ssl: false,
  });
  await client.connect();
  try {
    const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = 'tideline'");
    if (rowCount === 0) await client.query('CREATE DATABASE tideline');
  } finally {
    await client.end();
  }
}

function watchForLoss(pid: number, isStopping: () => boolean, home: PostgresHome, log: Log): void {
  const timer = setInterval(() => {
    if (isProcessAlive(pid)) return;
    clearInterval(timer);
    if (!isStopping()) log.error(`The embedded Postgres ended by itself; see ${join(home.homeDir, 'postgres.log')}.`);
  }, 2_000);
  timer.unref();
}
