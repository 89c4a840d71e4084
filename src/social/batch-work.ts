import { unavailable } from '../domain/errors.js';

export interface BatchedWork<Item, Result> {
  /** Resolves or rejects as this item's part of its batch does. @throws TidelineError SERVICE_UNAVAILABLE when full. */
  run(item: Item): Promise<Result>;
}

export interface BatchOptions<Item, Result> {
  /** Items that share a key are never under way at the same time; they go in the order in which they came. */
  readonly keyOf: (item: Item) => string;
  /** Only items of one group share a batch. */
  readonly groupOf: (item: Item) => string;
  /** One outcome an item, in order. When it rejects, all items fail. */
  readonly work: (items: readonly Item[]) => Promise<(Result | Error)[]>;
  readonly sizeMax: number;
  /** Batches at once. */
  readonly concurrency: number;
  /** Items that wait; further ones are refused. */
  readonly waitingMax: number;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Does together what comes in at once: an item that comes alone goes at once and alone; what comes while `concurrency`
 * batches are under way waits for one of them to end and then goes as one.
 */
export function createBatchedWork<Item, Result>(options: BatchOptions<Item, Result>): BatchedWork<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  const busyKeys = new Set<string>();
  let running = 0;

  function startNext(): void {
    while (running < options.concurrency) {
      const batch = takeBatch();
      if (batch.length === 0) return;
      running += 1;
      void runBatch(batch).then(() => {
        running -= 1;
        for (const { item } of batch) busyKeys.delete(options.keyOf(item));
        startNext();
      });
    }
  }

  function takeBatch(): Waiting<Item, Result>[] {
    const batch: Waiting<Item, Result>[] = [];
    const left: Waiting<Item, Result>[] = [];
    const passed = new Set<string>();
    let group: string | undefined;
    for (const [i, entry] of waiting.entries()) {
      if (batch.length === options.sizeMax) {
        left.push(...waiting.slice(i));
        break;
      }
      const key = options.keyOf(entry.item);
      const isFree = !busyKeys.has(key) && !passed.has(key);
      if (isFree && (group ??= options.groupOf(entry.item)) === options.groupOf(entry.item)) {
        busyKeys.add(key);
        batch.push(entry);
      } else {
        passed.add(key);
        left.push(entry);
      }
    }
    waiting = left;
    return batch;
  }

  /** Never rejects: each waiting item hears of its own outcome. */
  async function runBatch(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const outcomes = await options.work(batch.map(({ item }) => item));
      for (const [i, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[i];
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome as Result);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  return {
    run: (item) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= options.waitingMax) {
          reject(unavailable('Too much is going on at the moment. Try again.'));
          return;
        }
        waiting.push({ item, resolve, reject });
        startNext();
      }),
  };
}
