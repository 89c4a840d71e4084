/** Counts that wait for their turn; each watcher waits once, however often it is asked for. */
export interface Recounts<Watcher> {
  ask(watcher: Watcher): void;
  forget(watcher: Watcher): void;
  /** Drops what waits and lets what runs end. */
  close(): Promise<void>;
}

/** After a failure nothing is counted for this long: the authority is away, and all would fail alike. */
const PAUSE_MS = 1_000;

/**
 * Runs counts, some at once: after a reconnect all watchers ask, and pages are read meanwhile. A count that fails is tried
 * again until its watcher is forgotten.
 */
export function createRecounts<Watcher>(deps: {
  count: (watcher: Watcher) => Promise<void>;
  concurrency: number;
  onError: (error: unknown) => void;
}): Recounts<Watcher> {
  const waiting = new Set<Watcher>();
  const running = new Map<Watcher, Promise<void>>();
  let pause: NodeJS.Timeout | undefined;
  let isClosed = false;

  function startNext(): void {
    for (const watcher of waiting) {
      if (pause || isClosed || running.size >= deps.concurrency) return;
      if (running.has(watcher)) continue;
      waiting.delete(watcher);
      running.set(watcher, run(watcher));
    }
  }

  async function run(watcher: Watcher): Promise<void> {
    try {
      await deps.count(watcher);
    } catch (error) {
      deps.onError(error);
      waiting.add(watcher);
      pause ??= setTimeout(() => {
        pause = undefined;
        startNext();
      }, PAUSE_MS).unref();
    } finally {
      running.delete(watcher);
      startNext();
    }
  }

  return {
    ask(watcher) {
      waiting.add(watcher);
      startNext();
    },
    forget: (watcher) => void waiting.delete(watcher),
    async close() {
      isClosed = true;
      clearTimeout(pause);
      await Promise.all(running.values());
    },
  };
}
