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
import type { FastifyRequest } from 'fastify';
import { parse, type GraphQLError, type GraphQLSchema } from 'graphql';
import type { Registry } from 'prom-client';
import type { Config } from '../config.js';
import type { Viewer } from '../domain/viewer.js';
import { createHttpServer, guardMetrics, identify, type ReadyChecks, type RunningServer } from '../http.js';
import { createIdentityCheck } from '../identity.js';
import type { Logger } from '../log.js';
import { serveLive, wantsEvents } from '../streaming/serve-live.js';
import { formatError, hiddenPartOf } from './errors.js';
import { createJudge, limitOperations, type JudgeOperation } from './limit-operations.js';
import { openSubscription, type SubscriptionRequest } from './open-subscription.js';

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
  const typeDefs = parse(readFileSync(settings.typeDefs, 'utf8'));
  // The array form is the one that works in every 2.x of @apollo/subgraph.
  const schema = buildSubgraphSchema([{ typeDefs, resolvers: settings.resolvers } as SchemaModule]);
  const judge = createJudge(config, typeDefs);
  const apollo = createApolloServer<Context>({ config, schema, judge, log });
  await apollo.start();
  const { app, listen, close } = createHttpServer({ config, log, readyChecks: settings.readyChecks });
  const verify = createIdentityCheck(config);
  const open = async (request: SubscriptionRequest, requestId: string, context: Context) => {
    const onError = (error: GraphQLError) => logHiddenError(log, error, requestId);
    const { QUERY_TOKENS_MAX: tokensMax, isProduction: hideSuggestions } = config;
    return openSubscription({ schema, tokensMax, hideSuggestions, judge, onError }, request, context);
  };
  const live = serveLive({
    app,
    config,
    log,
    verify,
    open: async (operation, { viewer, requestId, authorization }) =>
      open(operation, requestId, makeContext(viewer, requestId, authorization)),
  });
  const contextOf = ({ viewer, id, headers, cancel }: FastifyRequest) =>
    makeContext(viewer, id, headers.authorization, cancel);
  const answer = fastifyApolloHandler(apollo, {
    context: async (request) => contextOf(request),
  });
  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',
    onRequest: identify(verify),
    async handler(request, reply) {
      if (request.method !== 'POST' || !wantsEvents(request)) return answer.call(app, request, reply);
      const seat = live.reserve(reply);
      if (seat) live.send(request, reply, await open(request.body ?? {}, request.id, contextOf(request)), seat);
      return reply;
    },
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

function createApolloServer<Context extends { requestId: string }>({
  config,
  schema,
  judge,
  log,
}: {
  config: Config;
  schema: GraphQLSchema;
  judge: JudgeOperation;
  log: Logger;
}) {
  return new ApolloServer<Context>({
    schema,
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
      limitOperations<Context>(judge),
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
      for (const error of errors) logHiddenError(log, error, requestId);
    },
  }),
});

function logHiddenError(log: Logger, error: GraphQLError, requestId: string): void {
  const hidden = hiddenPartOf(error);
  if (hidden) log.error({ err: hidden, path: error.path, requestId }, 'an error that the client does not see');
}
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
