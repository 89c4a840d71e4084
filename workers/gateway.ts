import { readEnvironment } from '../src/config.js';
import { createLogger } from '../src/log.js';
import { startOwnGateway } from '../src/wiring/gateway.js';
import { openGatewayRedis } from '../src/app.js';
import { runUntilSignal } from '../src/wiring/run-process.js';
import { subgraphUrls } from '../src/wiring/start-all.js';

// The gateway needs no Postgres and no Redis to start. With REDIS_URL gateways share rate limits and persisted queries.
await runUntilSignal(async () => {
  const config = readEnvironment({ needsStores: false });
  const log = createLogger(config.LOG_LEVEL, 'gateway');
  const redis = await openGatewayRedis(config, log);
  const gateway = await startOwnGateway({ config, log, subgraphUrls: subgraphUrls(config) }, redis);
  log.info({ url: gateway.url }, 'started');
  return {
    async close() {
      await gateway.close();
      redis?.disconnect();
    },
    timeoutMs: config.SHUTDOWN_TIMEOUT_MS,
  };
});
