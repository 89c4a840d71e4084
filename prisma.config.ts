import { defineConfig } from 'prisma/config';

// `generate` checks for the schema engine and never runs it, and on a closed network it cannot be fetched: any program
// passes the check. For `generate` alone, because `migrate` would run the stand-in and report success.
if (process.argv.includes('generate')) process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  // The Prisma CLI's own commands only; the service takes its address from src/config.ts.
  datasource: { url: process.env['DATABASE_URL'] ?? '' },
});
