import { startSocialSubgraph } from '../src/wiring/subgraphs.js';
import { runProcess } from '../src/wiring/run-process.js';

await runProcess('social', async (app) => {
  const server = await startSocialSubgraph(app);
  app.onClose(() => server.close());
});
