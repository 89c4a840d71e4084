import { openApp, type App } from '../app.js';
import { readEnvironment } from '../config.js';
import { messageOf } from '../domain/errors.js';

interface Started {
  close(): Promise<void>;
  /** Milliseconds that closing may take. */
  readonly timeoutMs: number;
}

/** The life of one production process that uses the stores: settings, clients, then `start`. */
export const runProcess = (name: string, start: (app: App) => Promise<unknown>): Promise<void> =>
  runUntilSignal(async () => {
    const app = await openApp(readEnvironment(), { name });
    try {
      await start(app);
    } catch (error) {
      await app.close();
      throw error;
    }
    app.log.info('started');
    return { close: () => app.close(), timeoutMs: app.config.SHUTDOWN_TIMEOUT_MS };
  });

/**
 * Runs until SIGTERM or SIGINT, which close what was started within its time; a second signal ends the process at once. A
 * failed start is told by its message alone and ends with exit code 1.
 */
export async function runUntilSignal(start: () => Promise<Started>): Promise<void> {
  try {
    const started = await start();
    let isClosing = false;
    const close = async (): Promise<void> => {
      if (isClosing) process.exit(130);
      isClosing = true;
      setTimeout(() => process.exit(1), started.timeoutMs + 1_000).unref();
      await started.close();
      process.exit(0);
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void close());
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exit(1);
  }
}
