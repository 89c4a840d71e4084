import type { Logger } from '../log.js';

export interface BackgroundWork {
  /** Runs `work` soon, unless work of that key waits already or too much waits; the next read will ask again. */
  schedule(key: string, work: () => Promise<unknown>): void;
  /** Lets what runs end and drops what waits: the next read asks for it again. */
  close(): Promise<void>;
}

/** Work of one process that readers do not wait for: rebuilding and cleaning inboxes. */
export function createBackgroundWork(options: {
  concurrency: number;
  maxWaiting: number;
  log: Pick<Logger, 'warn'>;
}): BackgroundWork {
  const waiting = new Map<string, () => Promise<unknown>>();
  const running = new Map<string, Promise<void>>();

  function startNext(): void {
    for (const [key, work] of waiting) {
      if (running.size >= options.concurrency) return;
      if (running.has(key)) continue;
      waiting.delete(key);
      const run = work()
        .catch((error: unknown) => {
          options.log.warn({ error, key }, 'background work failed');
        })
        .then(() => {
          running.delete(key);
          startNext();
        });
      running.set(key, run);
    }
  }

  return {
    schedule(key, work) {
      if (waiting.has(key) || waiting.size >= options.maxWaiting) return;
      waiting.set(key, work);
      startNext();
    },
    async close() {
      waiting.clear();
      await Promise.all(running.values());
    },
  };
}
