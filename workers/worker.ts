import { prepareStores, startWorkerProcess } from '../src/wiring/start-all.js';
import { runProcess } from '../src/wiring/run-process.js';

await runProcess('worker', async (app) => {
  await prepareStores(app);
  await startWorkerProcess(app, app.config.WORKER_ROLES);
});
