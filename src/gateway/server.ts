import cors from '@fastify/cors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.js';
import { createHttpServer, errorBody, identify, type RunningServer } from '../http.js';
import { createIdentityCheck } from '../identity.js';
import type { Logger } from '../log.js';
import { serveLive } from '../streaming/serve-live.js';
import { startRuntime } from './current-runtime.js';
import { createOpener, readLive } from './live.js';
import { payerOf } from './payer.js';
import { isEventStream } from './read-subscription.js';
import { FACTS, type RequestFacts } from './request-context.js';
import type { GatewayStores } from './runtime.js';

export interface GatewaySettings {
  readonly config: Config;
  readonly log: Logger;
  readonly supergraphPath: string;
  /** By the name of the subgraph in the supergraph; one that is not named keeps the URL that is written there. */
  readonly subgraphUrls: Readonly<Record<string, string>>;
  readonly port: number;
  /** Without them operations are not counted, and persisted queries are known to one process. */
  readonly stores?: GatewayStores;
  /** Development only: a token for GraphiQL's Headers tab. */
  readonly graphiqlToken?: string | undefined;
}

/** Content types that a browser sends across origins without asking first (CSRF). */
const SIMPLE_TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'];

/** How long a browser may rely on an answer about origins. */
const CORS_MAX_AGE_S = 600;

/**
 * Serves the composed graph at /graphql. Starts and stays up whatever the subgraphs do.
 * @throws StartError when the port cannot be had.
 */
export async function startGateway(settings: GatewaySettings): Promise<RunningServer> {
  const { config } = settings;
  const log = settings.log.child({ server: 'gateway' });
  const { supergraphPath, stores = {} } = settings;
  const runtime = await startRuntime(
    { supergraphPath, operationsPath: config.PERSISTED_OPERATIONS_FILE, pollMs: config.SUPERGRAPH_POLL_MS },
    { ...settings, log, stores },
  );
  const { app, listen, close } = createHttpServer({
    config,
    log,
    readyChecks: { supergraph: async () => runtime.getSchema() },
  });
  const verify = createIdentityCheck(config);
  const live = serveLive({ app, config, log, verify, open: createOpener(runtime) });
  await app.register(cors, {
    origin: config.CORS_ORIGINS.map((origin) => new URL(origin).origin),
    methods: ['GET', 'POST'],
    exposedHeaders: ['x-request-id', 'retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'],
    maxAge: CORS_MAX_AGE_S,
  });
  // Hive reads JSON itself, so that its answers to malformed requests stay those of GraphQL over HTTP.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => {
    done(null, body);
  });
  app.route({
    method: ['GET', 'POST'],
    url: '/graphql',
    onRequest: [
      async (request, reply) => {
        const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase();
        if (request.method === 'GET' || (type !== undefined && !SIMPLE_TYPES.includes(type))) return;
        return reply.code(415).send(errorBody('BAD_USER_INPUT', 'The content type must be application/json.'));
      },
      identify(verify),
    ],
    async handler(request, reply) {
      // The validated id, or the one made here: subgraphs log the same.
      request.raw.headers['x-request-id'] = request.id;
      const facts = factsOfRequest(request);
      const response = await runtime.handleNodeRequestAndResponse(request, reply, { [FACTS]: facts });
      // It took too long, or the client has gone.
      if (reply.sent) return reply;
      if (response.body && isEventStream(response)) {
        const seat = live.reserve(reply);
        if (seat) live.send(request, reply, readLive(response.body), seat);
        else await response.body.cancel();
        return reply;
      }
      response.headers.forEach((value, name) => {
        void reply.header(name, value);
      });
      tellAllowance(reply, facts);
      if (response.headers.get('content-type')?.startsWith('text/html')) letPageRun(reply);
      return reply.code(response.status).send(response.body ?? '');
    },
  });
  return {
    url: await listen(settings.port, 'GATEWAY_PORT'),
    async close() {
      await close();
      await runtime[Symbol.asyncDispose]();
    },
  };
}

const factsOfRequest = (request: FastifyRequest): RequestFacts => ({
  payer: payerOf(request.viewer, request.ip),
  cancel: request.cancel,
  wantsCost: request.headers['x-graphql-cost'] !== undefined,
});

function tellAllowance(reply: FastifyReply, { allowance }: RequestFacts): void {
  if (!allowance) return;
  void reply.headers({
    'x-ratelimit-limit': allowance.limit,
    'x-ratelimit-remaining': allowance.remaining,
    'x-ratelimit-reset': allowance.resetSeconds,
    ...(!allowance.isAllowed && { 'retry-after': allowance.retryAfterSeconds }),
  });
}

/** GraphiQL, in development: its scripts are in the page. */
const letPageRun = (reply: FastifyReply): FastifyReply =>
  reply.header(
    'content-security-policy',
    "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; frame-ancestors 'none'",
  );
