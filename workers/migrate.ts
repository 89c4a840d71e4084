import { readEnvironment } from '../src/config.js';
import { messageOf } from '../src/domain/errors.js';
import { createLogger } from '../src/log.js';
import { migrateDatabase } from '../src/stores/migrate.js';

try {
  const config = readEnvironment();
  const log = createLogger(config.LOG_LEVEL, 'migrate');
  if (!config.DATABASE_URL) throw new Error('DATABASE_URL must be set.');
  const { applied } = await migrateDatabase({ databaseUrl: config.DATABASE_URL, log });
  log.info({ applied }, 'the database is up to date');
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
}
