import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrateDatabase } from '../../src/stores/migrate.js';
import { createEmptyDatabase, createTestDatabase } from '../harness/services.js';

const log = { info: () => undefined, warn: () => undefined };
let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
let migrationsDir: string;

beforeEach(async () => {
  database = await createEmptyDatabase();
  migrationsDir = mkdtempSync(join(tmpdir(), 'tideline-migrations-'));
  writeMigration('0001_first', 'CREATE TABLE first (id int PRIMARY KEY); INSERT INTO first VALUES (1);');
  writeMigration('0002_second', 'INSERT INTO first VALUES (2);');
});

afterEach(async () => {
  await database.drop();
  rmSync(migrationsDir, { recursive: true });
});

describe('migrateDatabase', () => {
  test('applies each migration once, in name order, and nothing the second time', async () => {
    expect(await migrate()).toEqual(['0001_first', '0002_second']);
    expect(await migrate()).toEqual([]);
    expect(await query('SELECT id FROM first ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
  });

  test('two migrations at once apply each once', async () => {
    const results = await Promise.all(Array.from({ length: 4 }, migrate));
    expect(results.flat().sort()).toEqual(['0001_first', '0002_second']);
    expect(await query('SELECT count(*)::int AS n FROM _prisma_migrations')).toEqual([{ n: 2 }]);
  });

  test('an edited migration stops the run and names it', async () => {
    await migrate();
    writeMigration('0001_first', 'CREATE TABLE first (id bigint PRIMARY KEY);');
    writeMigration('0003_third', 'CREATE TABLE third ();');
    await expect(migrate()).rejects.toThrow('0001_first was edited');
    expect(await query("SELECT to_regclass('third') AS found")).toEqual([{ found: null }]);
  });

  test('a failing migration names itself and leaves nothing of itself; corrected, it is applied', async () => {
    writeMigration('0002_second', 'CREATE TABLE half (); INSERT INTO missing VALUES (1);');
    await expect(migrate()).rejects.toThrow(/0002_second failed: relation "missing" does not exist/);
    expect(await query("SELECT to_regclass('half') AS found")).toEqual([{ found: null }]);
    expect(await query('SELECT logs FROM _prisma_migrations WHERE rolled_back_at IS NOT NULL')).toHaveLength(1);
    writeMigration('0002_second', 'CREATE TABLE half ();');
    expect(await migrate()).toEqual(['0002_second']);
  });

  test('a migration that ends its own transaction is refused and named', async () => {
    writeMigration('0002_second', 'INSERT INTO first VALUES (2); COMMIT; INSERT INTO first VALUES (3);');
    await expect(migrate()).rejects.toThrow(/0002_second failed: .*COMMIT/);
    await expect(migrate()).rejects.toThrow('0002_second was begun and not finished');
  });

  test('a migration that Prisma left half done stops the run and names it', async () => {
    await migrate();
    await query("UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name = '0002_second'");
    await expect(migrate()).rejects.toThrow('0002_second was begun and not finished');
  });

  test('a migration without its file is only reported, for an older release on a newer database', async () => {
    await migrate();
    rmSync(join(migrationsDir, '0002_second'), { recursive: true });
    expect(await migrate()).toEqual([]);
  });

  test('the bookkeeping table has the columns of Prisma', async () => {
    await migrate();
    const rows = await query(
      "SELECT column_name FROM information_schema.columns WHERE table_name = '_prisma_migrations' ORDER BY ordinal_position",
    );
    expect(rows.map((row) => row['column_name'])).toEqual([
      ...['id', 'checksum', 'finished_at', 'migration_name', 'logs', 'rolled_back_at', 'started_at'],
      'applied_steps_count',
    ]);
  });

  test("this project's own migrations are applied to a test database", async () => {
    const migrated = await createTestDatabase();
    expect(await migrateDatabase({ databaseUrl: migrated.databaseUrl, log })).toEqual({ applied: [] });
    await migrated.drop();
  });
});

async function migrate(): Promise<string[]> {
  return (await migrateDatabase({ databaseUrl: database.databaseUrl, migrationsDir, log })).applied;
}

function writeMigration(name: string, sql: string): void {
  mkdirSync(join(migrationsDir, name), { recursive: true });
  writeFileSync(join(migrationsDir, name, 'migration.sql'), sql);
}

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database.databaseUrl });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
