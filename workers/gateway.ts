import { readConfig } from '../src/config.js';
import { startGateway } from '../src/gateway/server.js';
import { messageOf } from '../src/domain/errors.js';
import { createLogger } from '../src/log.js';
import { findProjectFile } from '../src/project-files.js';
import { subgraphUrls } from '../src/wiring/start-all.js';

// The gateway has no stores: it needs no Postgres and no Redis to start.
const config = readConfig(process.env, { needsStores: false });
const log = createLogger(config.LOG_LEVEL, 'gateway');
try {
  const gateway = await startGateway({
    config,
    log,
    supergraphPath: findProjectFile('schema/supergraph.graphql'),
    subgraphUrls: subgraphUrls(config),
    port: config.GATEWAY_PORT,
  });
  let isClosing = false;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (isClosing) process.exit(130);
      isClosing = true;
      void gateway.close().then(() => process.exit(0));
    });
  }
  log.info({ url: gateway.url }, 'started');
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
}
