import { openApp, type App } from '../app.js';
import { readConfig } from '../config.js';
import { messageOf } from '../domain/errors.js';
import { StartError } from '../http.js';

/**
 * The life of one production process: settings, clients, `start`, then SIGTERM or SIGINT closes what was started, in
 * reverse, within SHUTDOWN_TIMEOUT_MS; a second signal ends it at once. A failed start ends with exit code 1.
 */
export async function runProcess(name: string, start: (app: App) => Promise<unknown>): Promise<void> {
  let app: App | undefined;
  try {
    app = await openApp(readConfig(), { name });
    await start(app);
    closeOnSignal(app);
    app.log.info('started');
  } catch (error) {
    process.stderr.write(`${error instanceof StartError ? error.message : messageOf(error)}\n`);
    await app?.close();
    process.exit(1);
  }
}

function closeOnSignal(app: App): void {
  let isClosing = false;
  const close = async (): Promise<void> => {
    if (isClosing) process.exit(130);
    isClosing = true;
    const deadline = setTimeout(() => process.exit(1), app.config.SHUTDOWN_TIMEOUT_MS + 1_000);
    deadline.unref();
    await app.close();
    process.exit(0);
  };
  process.on('SIGTERM', () => void close());
  process.on('SIGINT', () => void close());
}
