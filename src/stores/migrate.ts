import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

type Migration = { name: string; sql: string; checksum: string };
type AppliedRow = {
  migration_name: string;
  checksum: string;
  finished_at: Date | null;
  rolled_back_at: Date | null;
  logs: string | null;
};
type Log = { info(message: string): void; warn(message: string): void };

// The key that Prisma's own migrate takes, so that `prisma migrate deploy` and this runner exclude each other.
const advisoryLockKey = 72707369;
const lockTimeoutMs = 120_000;

/**
 * Applies prisma/migrations in name order, each in one transaction, with Prisma's own bookkeeping: a team with network
 * can go on with `prisma migrate deploy` (which needs an engine that npm does not deliver). Safe to call from several
 * processes at once: one applies, the others wait and find nothing to do.
 *
 * Throws, naming the migration, when one was edited after it was applied, when one fails (it leaves nothing behind and
 * is tried again by the next run), or when Prisma left one half done.
 */
export async function migrateDatabase(options: {
  databaseUrl: string;
  migrationsDir?: string;
  log: Log;
}): Promise<{ applied: string[] }> {
  const migrations = readMigrations(options.migrationsDir ?? findMigrationsDir());
  const client = new pg.Client({ connectionString: options.databaseUrl, application_name: 'tideline-migrate' });
  // A lost connection rejects the query in progress; the event only repeats it.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`SET lock_timeout = ${lockTimeoutMs}`);
    await client.query('SELECT pg_advisory_lock($1)', [advisoryLockKey]);
    await client.query('SET lock_timeout = 0');
    await client.query(createTableSql);
    const pending = listPending(migrations, await readApplied(client), options.log);
    for (const migration of pending) {
      await applyMigration(client, migration);
      options.log.info(`Applied migration ${migration.name}.`);
    }
    return { applied: pending.map((migration) => migration.name) };
  } finally {
    // The lock goes with the connection.
    await client.end();
  }
}

const createTableSql = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum            VARCHAR(64) NOT NULL,
    finished_at         TIMESTAMPTZ,
    migration_name      VARCHAR(255) NOT NULL,
    logs                TEXT,
    rolled_back_at      TIMESTAMPTZ,
    started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`;

/** Walks up from this file: it lies in src/ or in dist/src/, depending on who runs it. */
function findMigrationsDir(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, 'prisma', 'migrations');
    if (existsSync(candidate)) return candidate;
  }
  throw new Error('There is no prisma/migrations folder beside the program.');
}

function readMigrations(folder: string): Migration[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, 'migration.sql')))
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const sql = readFileSync(join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: hash(sql) };
    });
}

async function readApplied(client: pg.Client): Promise<AppliedRow[]> {
  const { rows } = await client.query<AppliedRow>(
    'SELECT migration_name, checksum, finished_at, rolled_back_at, logs FROM _prisma_migrations ORDER BY started_at',
  );
  return rows.filter((row) => row.rolled_back_at === null);
}

function listPending(migrations: readonly Migration[], applied: readonly AppliedRow[], log: Log): Migration[] {
  const byName = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const row of applied) {
    if (row.finished_at === null) {
      throw new Error(
        `Migration ${row.migration_name} was begun and not finished, outside of a transaction. Repair the database by hand, ` +
          `then set rolled_back_at (to run it again) or finished_at of its row in _prisma_migrations. ${row.logs ?? ''}`,
      );
    }
    const migration = byName.get(row.migration_name);
    // An older release on a newer database, during a rolling update: not this runner's to judge.
    if (!migration) log.warn(`Migration ${row.migration_name} is applied but its file is not here.`);
    else if (!matches(migration, row.checksum)) {
      throw new Error(
        `Migration ${migration.name} was edited after it was applied to this database. ` +
          'Restore its file and put the change into a new migration.',
      );
    }
  }
  const done = new Set(applied.map((row) => row.migration_name));
  return migrations.filter((migration) => !done.has(migration.name));
}

async function applyMigration(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  const id = randomUUID();
  try {
    await client.query('BEGIN');
    await client.query(
      'INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at) VALUES ($1, $2, $3, clock_timestamp())',
      [id, checksum, name],
    );
    // The transaction's own mark: it is gone when the file itself commits, and with it the promise of all or nothing.
    await client.query("SELECT set_config('tideline.migration', $1, true)", [id]);
    await client.query(sql);
    const { rows } = await client.query<{ mark: string }>("SELECT current_setting('tideline.migration', true) AS mark");
    if (rows[0]?.mark !== id) throw new Error('The file ends its own transaction (COMMIT or ROLLBACK): remove that.');
    await client.query(
      'UPDATE _prisma_migrations SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = $1',
      [id],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    const reason = describeError(error);
    await recordFailure(client, { id, checksum, name, reason });
    throw new Error(`Migration ${name} failed: ${reason}`, { cause: error });
  }
}

/** For the operator only; a failure of this note must not hide the failure itself. */
async function recordFailure(
  client: pg.Client,
  { id, checksum, name, reason }: { id: string; checksum: string; name: string; reason: string },
): Promise<void> {
  const values = [id, checksum, name, reason];
  await client
    .query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, logs, rolled_back_at) VALUES ($1, $2, $3, $4, now())
       ON CONFLICT (id) DO UPDATE SET logs = excluded.logs`,
      values,
    )
    .catch(() => undefined);
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { position, detail } = error as { position?: string; detail?: string };
  return [error.message, detail, position && `(at character ${position})`].filter(Boolean).join(' ');
}

function matches(migration: Migration, checksum: string): boolean {
  // Prisma too accepts the file with the other system's line ends.
  return checksum === migration.checksum || checksum === hash(migration.sql.replaceAll('\r\n', '\n'));
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
