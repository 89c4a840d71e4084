/** What a stream of updates says to its one reader: always the latest, never the same twice in a row. */
export interface Updates<T> {
  /** Replaces what was not yet taken: a slow reader costs the memory of one value. */
  put(value: T): void;
  /** Ends the stream for the reader. Safe to repeat. */
  close(): void;
  readonly stream: AsyncIterableIterator<T>;
}

export function createUpdates<T>(options: {
  /** Between two values at least; the first one is told at once. */
  readonly intervalMs: number;
  readonly isSame: (a: T, b: T) => boolean;
  readonly onTold: () => void;
  /** The stream has ended, from whichever side. */
  readonly onClose: () => void;
}): Updates<T> {
  let latest: T | undefined;
  let told: T | undefined;
  let nextAt = 0;
  let reader: ((result: IteratorResult<T>) => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function tell(): void {
    if (timer || !reader || latest === undefined) return;
    if (told !== undefined && options.isSame(latest, told)) {
      latest = undefined;
      return;
    }
    const waitMs = nextAt - performance.now();
    if (waitMs > 0) {
      timer = setTimeout(() => {
        timer = undefined;
        tell();
      }, waitMs).unref();
      return;
    }
    const resolve = reader;
    told = latest;
    reader = latest = undefined;
    nextAt = performance.now() + options.intervalMs;
    options.onTold();
    resolve({ done: false, value: told });
  }

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(timer);
    reader?.(END);
    options.onClose();
  }

  const stream: AsyncIterableIterator<T> = {
    next() {
      if (isClosed) return Promise.resolve(END);
      return new Promise((resolve) => {
        reader = resolve;
        tell();
      });
    },
    // At once, also while a value is waited for: a generator would wait with it.
    return() {
      close();
      return Promise.resolve(END);
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return {
    put(value) {
      if (isClosed) return;
      latest = value;
      tell();
    },
    close,
    stream,
  };
}

const END = { done: true, value: undefined } as const;
