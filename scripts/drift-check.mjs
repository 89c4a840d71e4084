#!/usr/bin/env node
// `npm run check:drift`: prisma/migrations and prisma/schema.prisma say the same. The migrations are applied, by the
// service's own runner, to a scratch database in a Postgres of this check's own (or on TEST_DATABASE_URL). Prisma's
// schema engine then writes the SQL that would turn that database into the schema: any is drift. What the engine cannot
// see is compared with the list in lib/beyond-schema.mjs. `--script` prints the SQL only: after an edit of
// schema.prisma it is a draft of the next migration.
import './lib/check-node.mjs';
import './lib/register-typescript.mjs';
import { beyondSchema, listBeyondSchema } from './lib/beyond-schema.mjs';
import { diffAgainstSchema, splitStatements } from './lib/schema-diff.mjs';
import { withScratchDatabase } from './lib/scratch-database.mjs';

const { migrateDatabase } = await import('../src/stores/migrate.ts');
const quiet = { info: () => undefined, warn: console.warn, error: console.error };

process.exitCode = await withScratchDatabase(async (databaseUrl) => {
  await migrateDatabase({ databaseUrl, log: quiet });
  const sql = await diffAgainstSchema(databaseUrl);
  if (!process.argv.includes('--script')) return report(splitStatements(sql), await listBeyondSchema(databaseUrl));
  console.log(sql);
  return 0;
}, quiet);

function report(statements, objects) {
  const unlisted = objects.filter((name) => !beyondSchema.some(([pattern]) => pattern.test(name)));
  const idle = beyondSchema.filter(([pattern]) => !objects.some((name) => pattern.test(name)));
  if (statements.length > 0) {
    console.error('prisma/migrations and prisma/schema.prisma differ. From the first to the second it would take:\n');
    console.error(`${statements.join(';\n')};\n`);
  }
  for (const name of unlisted) console.error(`Made by a migration, not in scripts/lib/beyond-schema.mjs: ${name}`);
  for (const [pattern] of idle) console.error(`In scripts/lib/beyond-schema.mjs, made by no migration: ${pattern}`);
  if (statements.length + unlisted.length + idle.length > 0) return 1;
  console.log(`The migrations and schema.prisma agree; ${objects.length} objects beyond Prisma are as listed.`);
  return 0;
}
