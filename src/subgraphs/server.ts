import { readFileSync } from 'node:fs';
import { ApolloServer, type ApolloServerPlugin } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { fastifyApolloHandler } from '@as-integrations/fastify';
import { parse } from 'graphql';
import type { Registry } from 'prom-client';
import type { Config } from '../config.js';
import type { Viewer } from '../domain/viewer.js';
import { createHttpServer, guardMetrics, identify, type ReadyChecks, type RunningServer } from '../http.js';
import { createIdentityCheck } from '../identity.js';
import type { Logger } from '../log.js';
import { formatError, hiddenPartOf } from './errors.js';
import { limitOperations } from './limit-operations.js';

export interface SubgraphSettings<Context extends { requestId: string }> {
  readonly name: string;
  /** The path of the SDL. */
  readonly typeDefs: string;
  readonly resolvers: object;
  /** @param cancel aborted when nobody waits for the answer any longer */
  readonly makeContext: (
    viewer: Viewer | null,
    requestId: string,
    authorization: string | undefined,
    cancel?: AbortSignal,
  ) => Context;
  readonly config: Config;
  readonly log: Logger;
  readonly readyChecks: ReadyChecks;
  readonly port: number;
  /** The variable that chooses the port. */
  readonly portSetting: string;
  /** Served at /metrics when given: in production each process is scraped on its own port. */
  readonly metrics?: Registry | undefined;
}

/** Serves one subgraph at /graphql. @throws StartError when the port cannot be had. */
export async function startSubgraph<Context extends { requestId: string }>(
  settings: SubgraphSettings<Context>,
): Promise<RunningServer> {
  const { config, makeContext } = settings;
  const log = settings.log.child({ server: settings.name });
  const apollo = createApolloServer<Context>(settings, log);
  await apollo.start();
  const { app, listen, close } = createHttpServer({ config, log, readyChecks: settings.readyChecks });
  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',
    onRequest: identify(createIdentityCheck(config)),
    handler: fastifyApolloHandler(apollo, {
      context: async (request) =>
        makeContext(request.viewer, request.id, request.headers.authorization, request.cancel),
    }),
  });
  const { metrics } = settings;
  if (metrics) {
    app.get('/metrics', { onRequest: guardMetrics(config) }, (_, reply) =>
      reply.type(metrics.contentType).send(metrics.metrics()),
    );
  }
  return {
    url: await listen(settings.port, settings.portSetting),
    async close() {
      await close();
      await apollo.stop();
    },
  };
}

type SchemaModule = Extract<Parameters<typeof buildSubgraphSchema>[0], unknown[]>[number];

function createApolloServer<Context extends { requestId: string }>(settings: SubgraphSettings<Context>, log: Logger) {
  const { config } = settings;
  const typeDefs = parse(readFileSync(settings.typeDefs, 'utf8'));
  return new ApolloServer<Context>({
    // The array form is the one that works in every 2.x of @apollo/subgraph.
    schema: buildSubgraphSchema([{ typeDefs, resolvers: settings.resolvers } as SchemaModule]),
    logger: log,
    nodeEnv: config.NODE_ENV,
    // A gateway composes by `_service { sdl }`, which stays.
    introspection: !config.isProduction,
    hideSchemaDetailsFromClientErrors: config.isProduction,
    includeStacktraceInErrorResponses: false,
    formatError,
    parseOptions: { maxLexicalTokens: config.QUERY_TOKENS_MAX },
    allowBatchedHttpRequests: false,
    csrfPrevention: true,
    persistedQueries: false,
    stopOnTerminationSignals: false,
    plugins: [
      logHiddenErrors<Context>(log),
      answerAsGraphqlOverHttp<Context>(),
      limitOperations<Context>(config, typeDefs),
      // Computing cache hints costs 30 % of a request's CPU, and a personal feed is never cached by them.
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginSchemaReportingDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
    ],
  });
}

const logHiddenErrors = <Context extends { requestId: string }>(log: Logger): ApolloServerPlugin<Context> => ({
  requestDidStart: async () => ({
    didEncounterErrors: async ({ errors, contextValue: { requestId } }) => {
      for (const error of errors) {
        const hidden = hiddenPartOf(error);
        if (hidden) log.error({ err: hidden, path: error.path, requestId }, 'an error that the client does not see');
      }
    },
  }),
});

/**
 * GraphQL over HTTP wants 200 under application/json for whatever is a well-formed request, also when its document is
 * refused; Apollo Server answers 400. Clients that accept application/graphql-response+json get the 400.
 */
const answerAsGraphqlOverHttp = <Context extends { requestId: string }>(): ApolloServerPlugin<Context> => ({
  requestDidStart: async () => ({
    willSendResponse: async ({ request, response: { http } }) => {
      const isAware = request.http?.headers.get('accept')?.includes('application/graphql-response+json');
      if (!isAware && http.status === 400 && typeof request.query === 'string') http.status = 200;
    },
  }),
});
