import { createHash, randomInt } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/embedded/postgres.js';
import { migrateDatabase } from '../../src/stores/migrate.js';
import { harnessLog } from './harness-log.js';

// A run holds an advisory lock on its number for as long as it lives; its databases carry the number in their names. A
// later run that gets the lock knows that the run is dead, and drops them. Only a server given by TEST_DATABASE_URL
// outlives a run, the embedded one goes with its folder.

let runClient: pg.Client | null = null;
let runServer: EmbeddedPostgres | null = null;

/** Starts Postgres (or takes TEST_DATABASE_URL), makes the template and tells the test files through the environment. */
export async function prepareDatabases(runDir: string): Promise<void> {
  const given = process.env['TEST_DATABASE_URL'];
  if (!given) runServer = await startEmbeddedPostgres({ dataDir: runDir, log: harnessLog, durable: false });
  const url = given ?? runServer?.url ?? '';
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  runClient = client;
  const run = randomInt(1, 2 ** 31);
  await client.query('SELECT pg_advisory_lock($1, $2)', [lockSpace, run]);
  if (given) await dropDeadRuns(client);
  process.env['TIDELINE_TEST_PG_URL'] = url;
  process.env['TIDELINE_TEST_RUN'] = String(run);
  process.env['TIDELINE_TEST_TEMPLATE'] = await ensureTemplate(client, url);
}

/** Drops this run's databases from a server that was given, or stops the run's own. */
export async function releaseDatabases(): Promise<void> {
  const [client, server] = [runClient, runServer];
  runClient = null;
  runServer = null;
  try {
    if (client && !server) await dropRun(client, Number(process.env['TIDELINE_TEST_RUN']));
  } finally {
    await client?.end();
    await server?.stop();
  }
}

const lockSpace = 727_073;

/** A template per state of the migrations: one that is there already was finished by an earlier run. */
async function ensureTemplate(client: pg.Client, url: string): Promise<string> {
  const migrationsDir = join(process.cwd(), 'prisma', 'migrations');
  const name = `tideline_template_${hashFolder(migrationsDir)}`;
  await client.query('SELECT pg_advisory_lock($1)', [lockSpace]);
  try {
    const { rows } = await client.query<{ isDone: boolean }>(
      'SELECT datistemplate AS "isDone" FROM pg_database WHERE datname = $1',
      [name],
    );
    if (rows[0]?.isDone) return name;
    await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await client.query(`CREATE DATABASE ${name}`);
    await migrateDatabase({ databaseUrl: withDatabase(url, name), migrationsDir, log: harnessLog });
    // Copying needs a template that nobody is connected to.
    await client.query(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`);
    return name;
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [lockSpace]);
  }
}

export function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function dropDeadRuns(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ run: number }>(
    `SELECT DISTINCT split_part(datname, '_', 3)::int AS run FROM pg_database WHERE datname ~ '^tideline_test_[0-9]+_'`,
  );
  for (const { run } of rows) {
    const { rows: tried } = await client.query<{ isDead: boolean }>('SELECT pg_try_advisory_lock($1, $2) AS "isDead"', [
      lockSpace,
      run,
    ]);
    if (!tried[0]?.isDead) continue;
    await dropRun(client, run);
    await client.query('SELECT pg_advisory_unlock($1, $2)', [lockSpace, run]);
  }
}

async function dropRun(client: pg.Client, run: number): Promise<void> {
  const { rows } = await client.query<{ datname: string }>('SELECT datname FROM pg_database WHERE datname LIKE $1', [
    `tideline\\_test\\_${run}\\_%`,
  ]);
  for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
}

function hashFolder(folder: string): string {
  const hash = createHash('sha256');
  for (const name of (readdirSync(folder, { recursive: true }) as string[]).sort()) {
    if (statSync(join(folder, name)).isFile()) hash.update(`${name}\0`).update(readFileSync(join(folder, name)));
  }
  return hash.digest('hex').slice(0, 16);
}
