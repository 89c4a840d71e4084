import type { App } from '../app.js';
import type { Config } from '../config.js';
import { startGateway } from '../gateway/server.js';
import type { RunningServer } from '../http.js';
import { startOperations } from '../operations/server.js';
import { findProjectFile } from '../project-files.js';
import { workerReadyChecks } from './ready-checks.js';
import { registerFeedPolicy } from '../stores/feed-state.js';
import { startFanoutWorkers, type FanoutWorkers, type WorkerRole } from './workers.js';
import { readRelayBacklog } from '../stores/relay-events.js';
import { checkRedis } from './check-redis.js';
import { feedPolicyOf } from './feed.js';
import { createHydrationParts, startSocialSubgraph, startTimelineSubgraph } from './subgraphs.js';

export interface Running {
  readonly gateway: RunningServer;
  readonly timeline: RunningServer;
  readonly social: RunningServer;
  readonly operations: RunningServer;
  readonly workers: FanoutWorkers;
}

/**
 * Everything in one process, as `npm start` has it. What was started ends with the app, the gateway first.
 * @param options.roles the workers that run here; all by default, none when others run them
 */
export async function startAll(
  app: App,
  { roles, ...options }: { graphiqlToken?: string; roles?: readonly WorkerRole[] } = {},
): Promise<Running> {
  const { config, log } = app;
  await prepareStores(app);
  const parts = createHydrationParts(app);
  const { workers, operations } = await startWorkerProcess(app, roles);
  const timeline = await closing(app, startTimelineSubgraph(app, parts));
  const social = await closing(app, startSocialSubgraph(app, parts));
  const gateway = await closing(
    app,
    startGateway({
      config,
      log,
      supergraphPath: findProjectFile('schema/supergraph.graphql'),
      subgraphUrls: subgraphUrls(config, { timeline: timeline.url, social: social.url }),
      port: config.GATEWAY_PORT,
      ...options,
    }),
  );
  return { gateway, timeline, social, operations, workers };
}

/** By name in the supergraph: TIMELINE_URL and SOCIAL_URL, else where this deployment's own listen. */
export function subgraphUrls(config: Config, own?: { timeline: string; social: string }): Record<string, string> {
  const local = own ?? {
    timeline: `http://${config.HOST}:${String(config.TIMELINE_PORT)}`,
    social: `http://${config.HOST}:${String(config.SOCIAL_PORT)}`,
  };
  return {
    timeline: config.TIMELINE_URL ?? `${local.timeline}/graphql`,
    social: config.SOCIAL_URL ?? `${local.social}/graphql`,
  };
}

/** The workers of some roles with the operations port beside them. */
export async function startWorkerProcess(app: App, roles?: readonly WorkerRole[]) {
  const workers = startFanoutWorkers(app, roles);
  app.onClose(() => workers.close());
  const { contentEvents, pushTasks } = workers.queues;
  const operations = await closing(
    app,
    startOperations({
      app,
      queues: [contentEvents, pushTasks],
      collect: () => measureBacklog(app),
      readyChecks: workerReadyChecks(app),
      port: app.config.OPS_PORT,
    }),
  );
  return { workers, operations };
}

/** How many events wait for the relay, and for how long. */
async function measureBacklog({ database, meters, clock }: App): Promise<void> {
  const { length, oldestAt } = await readRelayBacklog(database.pool);
  meters.relayBacklog.set(length);
  meters.relayBacklogAgeSeconds.set(oldestAt ? Math.max(0, clock() - oldestAt.getTime()) / 1000 : 0);
}

/** Checks Redis, and says to the authority which policy this deployment runs, before anything relies on an inbox. */
export async function prepareStores(app: App): Promise<void> {
  await checkRedis(app);
  await registerFeedPolicy(app.database.pool, feedPolicyOf(app));
}

async function closing(app: App, starting: Promise<RunningServer>): Promise<RunningServer> {
  const server = await starting;
  app.onClose(() => server.close());
  return server;
}
