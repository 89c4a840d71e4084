import { prepareStores } from '../src/wiring/prepare-stores.js';
import { startWorkerProcess } from '../src/wiring/worker-process.js';
import { runProcess } from '../src/wiring/run-process.js';

await runProcess('worker', async (app) => {
  await prepareStores(app);
  await startWorkerProcess(app, app.config.WORKER_ROLES);
});
