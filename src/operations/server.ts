import type { Queue } from 'bullmq';
import { collectDefaultMetrics } from 'prom-client';
import type { App } from '../app.js';
import { createHttpServer, guardMetrics, withTimeout, type ReadyChecks, type RunningServer } from '../http.js';
import { createIdentityCheck } from '../identity.js';
import { createBoardAccess } from './board-access.js';
import { BOARD_PATH, boardStrategy, serveBoards } from './board.js';

const COUNT_TIMEOUT_MS = 1_000;

type Needs = Pick<App, 'config' | 'log' | 'metrics' | 'meters'>;

export interface OperationsSettings {
  readonly app: Needs;
  readonly queues: readonly Queue[];
  /** Sets the gauges that are read from the stores, before a scrape is answered. */
  readonly collect: () => Promise<unknown>;
  readonly readyChecks: ReadyChecks;
  readonly port: number;
}

/**
 * For operators, on a port of its own that is not published: the dashboard at /queues behind a token, and /metrics
 * (guardMetrics in src/http.ts).
 * @throws StartError when the port cannot be had.
 */
export async function startOperations(settings: OperationsSettings): Promise<RunningServer> {
  const { config, metrics, meters } = settings.app;
  const log = settings.app.log.child({ server: 'operations' });
  const { app, listen, close } = createHttpServer({ config, log, readyChecks: settings.readyChecks });
  const access = createBoardAccess(createIdentityCheck(config), BOARD_PATH);
  app.addConstraintStrategy(boardStrategy(access));
  serveBoards(app, settings.queues, access);
  collectDefaultMetrics({ register: metrics });
  app.get('/metrics', { onRequest: guardMetrics(config) }, async (_, reply) => {
    await Promise.all([
      ...settings.queues.map((queue) => countJobs(queue, meters.queueJobs, log)),
      withTimeout(settings.collect(), COUNT_TIMEOUT_MS).catch((error: unknown) => {
        log.warn({ err: error }, 'gauges could not be read');
      }),
    ]);
    return reply.type(metrics.contentType).send(await metrics.metrics());
  });
  return { url: await listen(settings.port, 'OPS_PORT'), close };
}

/** While Redis is away BullMQ waits for it; a scrape does not, and goes without the counts. */
async function countJobs(queue: Queue, gauge: Needs['meters']['queueJobs'], log: Needs['log']): Promise<void> {
  try {
    const counts = await withTimeout(queue.getJobCounts(), COUNT_TIMEOUT_MS);
    for (const [state, count] of Object.entries(counts)) gauge.set({ queue: queue.name, state }, count);
  } catch (error) {
    gauge.reset();
    log.warn({ err: error, queue: queue.name }, 'jobs could not be counted');
  }
}
