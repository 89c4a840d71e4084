import DataLoader from 'dataloader';
import { unavailable } from '../domain/errors.js';
import type { CachedLookup, DetailCache, Outcome } from './detail-cache.js';
import type { Asker, ContentDetails, Counters, Found, Sources, UserCard } from './sources.js';

export type { Asker, ContentDetails, Counters, Media, UserCard } from './sources.js';

/**
 * What one request knows of the things it shows. Loads of one tick become one lookup per source, so a page of any size
 * costs one each. A load rejects with SERVICE_UNAVAILABLE when its source failed or took too long; the others go on.
 */
export interface Hydration {
  /** Null when deleted or unknown. */
  readonly contents: Loads<ContentDetails | null>;
  readonly users: Loads<UserCard | null>;
  readonly counters: Loads<Counters>;
  /** False without a viewer. */
  readonly viewerLikes: Loads<boolean>;
}

/** One kind of thing, by id. */
export interface Loads<V> {
  load(id: bigint): Promise<V>;
  /** As many loads at once. Never rejects: what failed is told by `peek`. */
  prefetch(ids: readonly bigint[]): Promise<void>;
  /** What a prefetch has found, without a promise; undefined when there was none. */
  peek(id: bigint): V | Error | undefined;
  /** The request changed it: the next load looks it up anew. */
  forget(id: bigint): void;
}

export type SourceName = 'content' | 'user' | 'counter' | 'like';

export interface HydrationMetrics {
  /** One lookup of `size` ids at a source. */
  observeBatch(source: SourceName, size: number): void;
  /** A lookup that failed as a whole. */
  observeFailure?(source: SourceName): void;
}

export interface HydrationDeps {
  readonly sources: Sources;
  /** What is looked up through a process-wide cache, and shared by those who ask at once whoever they are. */
  readonly cache?: Partial<Pick<DetailCache, 'contents' | 'users'>> | undefined;
  /** SOURCE_TIMEOUT_MS, per lookup. */
  readonly timeoutMs: number;
  readonly metrics?: HydrationMetrics | undefined;
  /** Aborted when nobody waits for this request any longer: no lookup begins, and those under way are told. */
  readonly cancel?: AbortSignal | undefined;
}

/** Ids in one lookup, a limit that the sources may rely on. */
const HYDRATION_BATCH_MAX = 1000;

const NO_COUNTERS: Counters = { likes: 0, comments: 0, reposts: 0, favorites: 0 };

/** Made anew for each request: its loaders remember what the request has seen. */
export function createHydration(deps: HydrationDeps, asker: Asker): Hydration {
  const { cache, cancel } = deps;
  const { contents, users, counters } = deps.sources;
  // What the cache looks up is for every request that waits for it, whatever becomes of the first one.
  const shared = cache ? { ...deps, cancel: undefined } : deps;
  const findContents = askSource(shared, 'content', (ids, signal) => contents.findContents(ids, signal, asker));
  const findUsers = askSource(shared, 'user', (ids, signal) => users.findUsers(ids, signal, asker));
  const findCounters = askSource(deps, 'counter', (ids, signal) => counters.findCounters(ids, signal, asker));
  const findLiked = askSource(deps, 'like', (ids, signal) => counters.findLiked(ids, signal, asker));
  const createLoader = <V>(loadBatch: LoadBatch<V>) => createLoaderUntil(cancel, loadBatch);
  return {
    contents: createLoader((ids) => loadThrough(cache?.contents, ids, findContents)),
    users: createLoader((ids) => loadThrough(cache?.users, ids, findUsers)),
    counters: createLoader(async (ids) => {
      const found = await findCounters(ids);
      return ids.map((id) => found.get(id) ?? NO_COUNTERS);
    }),
    viewerLikes: asker.viewer
      ? createLoader(async (ids) => {
          const liked = await findLiked(ids);
          return ids.map((id) => liked.get(id) ?? false);
        })
      : {
          load: async () => false,
          prefetch: () => Promise.resolve(),
          peek: () => false,
          forget: () => undefined,
        },
  };
}

type LoadBatch<V> = (ids: readonly bigint[]) => Promise<(V | Error)[]>;

/** A Map compares bigints by value, so that DataLoader needs no cacheKeyFn for them. */
function createLoaderUntil<V>(cancel: AbortSignal | undefined, loadBatch: LoadBatch<V>): Loads<V> {
  const loadUnlessCancelled: LoadBatch<V> = async (ids) => {
    if (cancel?.aborted) throw unavailable('Nobody waits for this any longer.', cancel.reason);
    return loadBatch(ids);
  };
  const loader = new DataLoader<bigint, V>(loadUnlessCancelled, { maxBatchSize: HYDRATION_BATCH_MAX });
  const found = new Map<bigint, V | Error>();
  return {
    load: (id) => loader.load(id),
    async prefetch(ids) {
      const results = await loader.loadMany(ids);
      ids.forEach((id, i) => found.set(id, results[i] as V | Error));
    },
    peek: (id) => found.get(id),
    forget(id) {
      found.delete(id);
      loader.clear(id);
    },
  };
}

async function loadThrough<V>(
  cached: CachedLookup<V> | undefined,
  ids: readonly bigint[],
  find: (ids: readonly bigint[]) => Promise<Found<V>>,
): Promise<Outcome<V>[]> {
  if (cached) return cached.load(ids, find);
  const found = await find(ids);
  return ids.map((id) => found.get(id) ?? null);
}

/** Bounds a lookup in time and names the source in its error. A source that ignores the signal is waited for no longer. */
function askSource<R>(
  { timeoutMs, metrics, cancel }: HydrationDeps,
  source: SourceName,
  ask: (ids: readonly bigint[], signal: AbortSignal) => Promise<R>,
): (ids: readonly bigint[]) => Promise<R> {
  return async (ids) => {
    metrics?.observeBatch(source, ids.length);
    const controller = new AbortController();
    const onCancel = () => {
      controller.abort(cancel?.reason);
    };
    cancel?.addEventListener('abort', onCancel);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const reason = new Error(`no answer within ${timeoutMs} ms`);
        // Rejected first: what the source makes of the signal must not become the cause.
        reject(reason);
        controller.abort(reason);
      }, timeoutMs);
    });
    try {
      return await Promise.race([ask(ids, controller.signal), timeout]);
    } catch (error) {
      metrics?.observeFailure?.(source);
      throw unavailable(`The ${source} service cannot be reached.`, error);
    } finally {
      clearTimeout(timer);
      cancel?.removeEventListener('abort', onCancel);
    }
  };
}
