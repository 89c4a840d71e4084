import { readConfig } from '../src/config.js';
import { messageOf } from '../src/domain/errors.js';
import { createLogger } from '../src/log.js';
import { migrateDatabase } from '../src/stores/migrate.js';

const config = readConfig();
const log = createLogger(config.LOG_LEVEL, 'migrate');
try {
  if (!config.DATABASE_URL) throw new Error('DATABASE_URL must be set.');
  const { applied } = await migrateDatabase({ databaseUrl: config.DATABASE_URL, log });
  log.info({ applied }, 'the database is up to date');
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
}
