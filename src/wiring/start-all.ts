import type { App } from '../app.js';
import type { Config } from '../config.js';
import type { RunningServer } from '../http.js';
import { closing } from './closing.js';
import { startOwnGateway } from './gateway.js';
import { prepareStores } from './prepare-stores.js';
import { startWorkerProcess } from './worker-process.js';
import type { FanoutWorkers, WorkerRole } from './workers.js';
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
    startOwnGateway(
      { config, log, subgraphUrls: subgraphUrls(config, { timeline: timeline.url, social: social.url }), ...options },
      app.redis,
    ),
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
