import { openApp, type App } from './app.js';
import { readEnvironment, type Config } from './config.js';
import { loadDemo, READER_ID } from './demo/load-demo.js';
import { messageOf } from './domain/errors.js';
import { ensureServices } from './embedded/services.js';
import { StartError } from './http.js';
import { mintToken } from './identity.js';
import { startAll, type Running } from './wiring/start-all.js';
import { migrateDatabase } from './stores/migrate.js';

type Services = Awaited<ReturnType<typeof ensureServices>>;

// `npm start`: services where no URL is given, migrations, demo data, then everything in one process.
const say = (line: string): void => {
  console.log(line);
};
const sayTo = { info: say, warn: say, error: say };
let services: Services | undefined;
let app: App | undefined;

let stopping: Promise<void> | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (stopping) process.exit(130);
    say('Stopping ...');
    void stop().then(() => process.exit(0));
  });
}

try {
  // A terminal is for people: what a production process logs at `info` is left out unless asked for.
  const config = readEnvironment({ defaults: { LOG_LEVEL: 'warn' } });
  services = await ensureServices({
    dataDir: config.dataDir,
    databaseUrl: config.DATABASE_URL,
    redisUrl: config.REDIS_URL,
    log: sayTo,
  });
  await migrateDatabase({ databaseUrl: services.databaseUrl, log: sayTo });
  const { databaseUrl: DATABASE_URL, redisUrl: REDIS_URL } = services;
  app = await openApp({ ...config, DATABASE_URL, REDIS_URL }, { name: 'tideline' });
  if (config.DEMO_DATA === 'on') await loadDemo({ database: app.database, clock: app.clock, log: sayTo });
  const tokens = await mintTokens(config);
  const running = await startAll(app, tokens && { graphiqlToken: tokens.reader });
  services.publishUrls(urlsOf(running));
  welcome(config, running, tokens);
} catch (error) {
  if (!stopping) {
    process.stderr.write(`\n${error instanceof StartError ? error.message : messageOf(error)}\n`);
    await stop();
    process.exit(1);
  }
}

/** Servers first, then the services under them. Safe to call twice. */
function stop(): Promise<void> {
  stopping ??= (async () => {
    await app?.close();
    await services?.stop();
  })();
  return stopping;
}

/** Undefined when tokens come from a key server. */
async function mintTokens(config: Config) {
  if (config.AUTH_JWKS_URL) return undefined;
  return {
    reader: await mintToken(config, BigInt(READER_ID)),
    admin: await mintToken(config, BigInt(READER_ID), { admin: true }),
  };
}

function urlsOf({ gateway, timeline, social, operations }: Running): Record<string, string> {
  return { gateway: gateway.url, timeline: timeline.url, social: social.url, operations: operations.url };
}

function welcome(config: Config, running: Running, tokens: Awaited<ReturnType<typeof mintTokens>>): void {
  const graphql = `${running.gateway.url}/graphql`;
  const { reader, admin } = tokens ?? { reader: 'TOKEN', admin: 'TOKEN' };
  const query =
    '{ timelineFeed(first: 3) { edges { cursor node { text publishTime author { displayName } } } pageInfo { hasNextPage endCursor } } }';
  say(`
Tideline is running.

  GraphQL     ${graphql}${config.isProduction ? '' : '   (GraphiQL in a browser)'}
  Subgraphs   ${running.timeline.url}/graphql (timeline), ${running.social.url}/graphql (social)
  Operations  ${running.operations.url}/queues?token=${admin}
              ${running.operations.url}/metrics

${tokens ? `A token of user ${READER_ID}, for 30 days:\n\n  ${reader}` : 'Tokens come from the keys at AUTH_JWKS_URL.'}

A first query:

  curl -s ${graphql} -H 'content-type: application/json' \\
    -H 'authorization: Bearer ${reader}' \\
    -d '${JSON.stringify({ query })}'

Ctrl-C stops everything and keeps the data.
`);
}
