import type { App } from '../app.js';
import type { Viewer } from '../domain/viewer.js';
import { createBackgroundWork } from '../fanout/background-work.js';
import { createDetailCache } from '../feed/detail-cache.js';
import { createHydration, type HydrationDeps } from '../feed/hydrate.js';
import { createLocalSources } from '../feed/local-sources.js';
import { createProjectedCounters } from '../feed/projected-counters.js';
import type { RunningServer } from '../http.js';
import { findProjectFile } from '../project-files.js';
import { createSocial } from '../social/create-social.js';
import { createIdGenerator } from '../social/id-generator.js';
import { startCounterProjector } from '../social/project-counters.js';
import {
  contentKey,
  publishInvalidation,
  subscribeInvalidations,
  userKey,
  type InvalidationKey,
} from '../stores/invalidations.js';
import type { RequestContext } from '../subgraphs/context.js';
import { startSubgraph } from '../subgraphs/server.js';
import { createSocialResolvers } from '../subgraphs/social/resolvers.js';
import { createTimelineResolvers } from '../subgraphs/timeline/resolvers.js';
import { createAppCommentIndex, createAppCountProjection } from './counters.js';
import { createFeed } from './feed.js';
import { createAnnouncer, createLive } from './live.js';
import { subgraphReadyChecks } from './ready-checks.js';
import { plugRemoteSources } from './remote-sources.js';

/** What a process needs once to hydrate requests, whichever subgraphs it serves. */
export interface HydrationParts {
  readonly deps: HydrationDeps;
  /** The same with the counts of now: who has just liked sees it. */
  readonly exactDeps: HydrationDeps;
  /** Forgets a content's details here, before it returns, and in every other process. */
  readonly forgetContent: (contentId: bigint) => void;
  /** The same of a user's card. */
  readonly forgetUser: (userId: bigint) => void;
}

export function createHydrationParts(app: App): HydrationParts {
  const { config, clock, log, meters } = app;
  const cache = createDetailCache({
    maxBytes: config.CONTENT_CACHE_BYTES,
    ttlMs: config.CONTENT_CACHE_TTL_MS,
    clock,
    metrics: {
      observeLookup(kind, hits, misses) {
        meters.cacheRequests.inc({ cache: kind, result: 'hit' }, hits);
        meters.cacheRequests.inc({ cache: kind, result: 'miss' }, misses);
      },
    },
  });
  const onError = (error: unknown): void => {
    log.warn({ err: error }, 'invalidations');
  };
  const unsubscribe = subscribeInvalidations(app.subscriber, config.REDIS_KEY_PREFIX, {
    onInvalidate: (key) => {
      cache.invalidate(key);
    },
    onReset: () => {
      cache.clear();
    },
    onError,
  });
  app.onClose(() => {
    unsubscribe();
    return Promise.resolve();
  });
  const sources = createLocalSources(app.database.pool);
  const exactDeps: HydrationDeps = {
    sources,
    cache,
    timeoutMs: config.SOURCE_TIMEOUT_MS,
    metrics: {
      observeBatch(source, size) {
        meters.hydrationBatchSize.observe({ source }, size);
      },
      observeFailure(source) {
        meters.sourceFailures.inc({ source });
      },
    },
  };
  const counters = createProjectedCounters({
    db: app.database.pool,
    projection: createAppCountProjection(app),
    source: sources.counters,
    timeoutMs: config.SOURCE_TIMEOUT_MS / 4,
    metrics: {
      observeLookup(hits, misses) {
        meters.cacheRequests.inc({ cache: 'counter', result: 'hit' }, hits);
        meters.cacheRequests.inc({ cache: 'counter', result: 'miss' }, misses);
      },
    },
  });
  return {
    deps: { ...exactDeps, sources: { ...sources, counters } },
    exactDeps,
    forgetContent(contentId) {
      forget(contentKey(contentId));
    },
    forgetUser(userId) {
      forget(userKey(userId));
    },
  };

  function forget(key: InvalidationKey): void {
    cache.invalidate(key);
    publishInvalidation(app.redis, config.REDIS_KEY_PREFIX, key).catch(onError);
  }
}

export function startTimelineSubgraph(app: App, parts = createHydrationParts(app)): Promise<RunningServer> {
  const feed = createFeed(app);
  return startSubgraph({
    name: 'timeline',
    typeDefs: findProjectFile('schema/timeline.graphql'),
    resolvers: createTimelineResolvers(feed, createLive(app, feed)),
    makeContext: contextMaker(plugRemoteSources(app, parts.deps)),
    port: app.config.TIMELINE_PORT,
    portSetting: 'TIMELINE_PORT',
    metrics: app.metrics,
    ...commonSettings(app),
  });
}

/** Comment indexes that one process writes at once. */
const INDEXED_AT_ONCE = 2;

export function startSocialSubgraph(app: App, parts = createHydrationParts(app)): Promise<RunningServer> {
  const { config, clock, log } = app;
  const { pool, prisma } = app.database;
  const ids = createIdGenerator({ pool, clock, log });
  app.onClose(() => ids.close());
  const { cursorKeys } = config;
  const background = createBackgroundWork({ concurrency: INDEXED_AT_ONCE, maxWaiting: 1_000, log });
  app.onClose(() => background.close());
  const projector = startCounterProjector({ pool, projection: createAppCountProjection(app), log });
  app.onClose(() => projector.close());
  const social = createSocial({
    pool,
    prisma,
    ids,
    clock,
    cursorKeys,
    onContentChanged: parts.forgetContent,
    onUserChanged: parts.forgetUser,
    announce: createAnnouncer(app),
    onCountersChanged: projector.poke,
    commentIndex: createAppCommentIndex(app),
    schedule: (key, work) => {
      background.schedule(key, work);
    },
  });
  return startSubgraph({
    name: 'social',
    typeDefs: findProjectFile('schema/social.graphql'),
    resolvers: createSocialResolvers({ social }),
    makeContext: contextMaker(parts.exactDeps),
    port: config.SOCIAL_PORT,
    portSetting: 'SOCIAL_PORT',
    metrics: app.metrics,
    ...commonSettings(app),
  });
}

const commonSettings = (app: App) => ({ config: app.config, log: app.log, readyChecks: subgraphReadyChecks(app) });

const contextMaker =
  (deps: HydrationDeps) =>
  (
    viewer: Viewer | null,
    requestId: string,
    authorization: string | undefined,
    cancel?: AbortSignal,
  ): RequestContext => ({
    viewer,
    requestId,
    hydration: createHydration({ ...deps, cancel }, { viewer, requestId, authorization }),
  });
