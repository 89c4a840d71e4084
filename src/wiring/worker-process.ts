import type { App } from '../app.js';
import { startOperations } from '../operations/server.js';
import { readProjectionLag } from '../stores/counter-changes.js';
import { readRelayBacklog } from '../stores/relay-events.js';
import { closing } from './closing.js';
import { workerReadyChecks } from './ready-checks.js';
import { startFanoutWorkers, type WorkerRole } from './workers.js';

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
      collect: () => Promise.all([measureBacklog(app), measureProjectionLag(app)]),
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

/** How many changes of counts wait for their projection, and for how long. */
async function measureProjectionLag({ database, meters }: App): Promise<void> {
  const { length, oldestMs } = await readProjectionLag(database.pool);
  meters.projectionBacklog.set(length);
  meters.projectionLagSeconds.set(oldestMs / 1000);
}
