import { prepareStores } from '../src/wiring/prepare-stores.js';
import { startTimelineSubgraph } from '../src/wiring/subgraphs.js';
import { runProcess } from '../src/wiring/run-process.js';

await runProcess('timeline', async (app) => {
  await prepareStores(app);
  const server = await startTimelineSubgraph(app);
  app.onClose(() => server.close());
});
