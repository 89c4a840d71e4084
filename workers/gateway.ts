import { readEnvironment } from '../src/config.js';
import { startGateway } from '../src/gateway/server.js';
import { createLogger } from '../src/log.js';
import { findProjectFile } from '../src/project-files.js';
import { runUntilSignal } from '../src/wiring/run-process.js';
import { subgraphUrls } from '../src/wiring/start-all.js';

// The gateway has no stores: it needs no Postgres and no Redis to start.
await runUntilSignal(async () => {
  const config = readEnvironment({ needsStores: false });
  const log = createLogger(config.LOG_LEVEL, 'gateway');
  const gateway = await startGateway({
    config,
    log,
    supergraphPath: findProjectFile('schema/supergraph.graphql'),
    subgraphUrls: subgraphUrls(config),
    port: config.GATEWAY_PORT,
  });
  log.info({ url: gateway.url }, 'started');
  return { close: () => gateway.close(), timeoutMs: config.SHUTDOWN_TIMEOUT_MS };
});
