import { destination, pino } from 'pino';
import { openApp, type App } from '../app.js';
import { readEnvironment } from '../config.js';
import { ensureServices, findRunningServices } from '../embedded/services.js';
import { migrateDatabase } from '../stores/migrate.js';

export interface CommandServices {
  readonly app: App;
  /** Where they come from: given by URLs, of a running `npm start`, or started for this command. */
  readonly origin: 'given' | 'running' | 'own';
}

/**
 * Runs a command on the services that the environment names, else on those of the `npm start` that uses the data folder,
 * else on ones of its own that end with it, also when the command is interrupted.
 * @param migrate brings the database up to date first
 */
export async function withServices<T>(
  { migrate }: { migrate: boolean },
  run: (services: CommandServices) => Promise<T>,
): Promise<T> {
  const config = readEnvironment();
  const found = await findServices(config);
  let interruptedBy: NodeJS.Signals | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    interruptedBy = signal;
    void found.stop().finally(() => process.exit(signal === 'SIGINT' ? 130 : 143));
  };
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  let app: App | undefined;
  try {
    const { origin, databaseUrl, redisUrl } = found;
    if (migrate) await migrateDatabase({ databaseUrl, log: stderrLog });
    const log = pino({ name: 'tideline-cli', level: 'warn' }, destination({ fd: 2, sync: true }));
    app = await openApp({ ...config, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl }, { name: 'tideline-cli', log });
    return await run({ app, origin });
  } catch (error) {
    // What fails because its services went away is no news.
    throw interruptedBy ? new Error(`interrupted by ${interruptedBy}`, { cause: error }) : error;
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    await app?.close();
    await found.stop();
  }
}

async function findServices(config: ReturnType<typeof readEnvironment>) {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, dataDir } = config;
  const stop = (): Promise<void> => Promise.resolve();
  if (databaseUrl && redisUrl) return { origin: 'given' as const, databaseUrl, redisUrl, stop };
  const running = findRunningServices(dataDir);
  if (running) {
    const urls = { databaseUrl: databaseUrl ?? running.databaseUrl, redisUrl: redisUrl ?? running.redisUrl };
    return { origin: 'running' as const, ...urls, stop };
  }
  stderrLog.info('No start is running on this data folder: starting its services for this command.');
  const own = await ensureServices({ dataDir, databaseUrl, redisUrl, log: stderrLog });
  return { origin: 'own' as const, databaseUrl: own.databaseUrl, redisUrl: own.redisUrl, stop: () => own.stop() };
}

/** Standard output is for the result alone. */
const toStderr = (message: string): void => {
  process.stderr.write(`${message}\n`);
};
const stderrLog = { info: toStderr, warn: toStderr, error: toStderr };
