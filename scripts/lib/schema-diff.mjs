import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import * as bindings from '@prisma/schema-engine-wasm/schema_engine_bg';
import pg from 'pg';
import { root } from './stamps.mjs';

/** The SQL that would turn the database into prisma/schema.prisma; empty when nothing has to change. */
export async function diffAgainstSchema(databaseUrl) {
  const schema = { path: 'schema.prisma', content: readFileSync(path.join(root, 'prisma/schema.prisma'), 'utf8') };
  const pool = new CatalogPool({ connectionString: databaseUrl, max: 1 });
  const { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } = await loadBinding();
  const factory = new PrismaPg(pool);
  const connect = factory.connect.bind(factory);
  factory.connect = async () => readCharacters(await connect(), ColumnTypeEnum);
  const adapter = bindMigrationAwareSqlAdapterFactory(factory);
  const engine = await (
    await loadEngine()
  ).SchemaEngine.new({ datamodels: [[schema.path, schema.content]] }, () => undefined, adapter);
  try {
    const { stdout } = await engine.diff({
      from: { tag: 'schemaDatasource', files: [schema], configDir: root },
      to: { tag: 'schemaDatamodel', files: [schema] },
      script: true,
      exitCode: null,
      // The bookkeeping of the migrations themselves.
      filters: { externalTables: ['public._prisma_migrations'], externalEnums: [] },
    });
    return stdout ?? '';
  } finally {
    engine.free();
    await pool.end();
  }
}

// The catalog of constraints has columns of the one-byte type "char". The adapter knows no such type, only arrays of it,
// and the engine's description of the database fails; so they pass the adapter as arrays and are renamed behind it.
const charOid = 18;
const charArrayOid = 1002;

class CatalogPool extends pg.Pool {
  async query(...args) {
    const result = await super.query(...args);
    for (const field of result.fields ?? []) if (field.dataTypeID === charOid) field.dataTypeID = charArrayOid;
    return result;
  }
}

function readCharacters(adapter, { Character, CharacterArray }) {
  const queryRaw = adapter.queryRaw.bind(adapter);
  adapter.queryRaw = async (query) => {
    const result = await queryRaw(query);
    return { ...result, columnTypes: result.columnTypes.map((type) => (type === CharacterArray ? Character : type)) };
  };
  return adapter;
}

/** Statements of an engine's script, without its comments; it writes no function bodies, so a semicolon ends each. */
export function splitStatements(sql) {
  return sql
    .replaceAll(/^--.*$/gm, '')
    .split(/;\s*$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** The package's own entry imports its .wasm file, which Node does behind a flag only. */
async function loadEngine() {
  const file = createRequire(import.meta.url)
    .resolve('@prisma/schema-engine-wasm/schema_engine_bg')
    .replace(/\.js$/, '.wasm');
  const { instance } = await WebAssembly.instantiate(readFileSync(file), { './schema_engine_bg.js': bindings });
  // Where the engine leaves the reason before it traps.
  globalThis.PRISMA_WASM_PANIC_REGISTRY ??= { set_message: (message) => console.error(message) };
  bindings.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  return bindings;
}

/** The copy that belongs to the adapter, whatever version another package brings along. */
async function loadBinding() {
  const require = createRequire(import.meta.url);
  const adapter = createRequire(require.resolve('@prisma/adapter-pg'));
  return import(pathToFileURL(adapter.resolve('@prisma/driver-adapter-utils')).href);
}
