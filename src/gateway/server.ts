import { readFile } from 'node:fs/promises';
import type { Config } from '../config.js';
import { createHttpServer, errorBody, identify, type RunningServer } from '../http.js';
import { createIdentityCheck } from '../identity.js';
import type { Logger } from '../log.js';
import { serveLive } from '../streaming/serve-live.js';
import { createOpener, readLive } from './live.js';
import { isEventStream } from './read-subscription.js';
import { createRuntime } from './runtime.js';

export interface GatewaySettings {
  readonly config: Config;
  readonly log: Logger;
  readonly supergraphPath: string;
  /** By the name of the subgraph in the supergraph; one that is not named keeps the URL that is written there. */
  readonly subgraphUrls: Readonly<Record<string, string>>;
  readonly port: number;
  /** Development only: a token for GraphiQL's Headers tab. */
  readonly graphiqlToken?: string | undefined;
}

/** Content types that a browser sends across origins without asking first (CSRF). */
const SIMPLE_TYPES = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'];

/**
 * Serves the composed graph at /graphql. Starts and stays up whatever the subgraphs do.
 * @throws StartError when the port cannot be had.
 */
export async function startGateway(settings: GatewaySettings): Promise<RunningServer> {
  const { config } = settings;
  const log = settings.log.child({ server: 'gateway' });
  const loadSupergraph = () => readFile(settings.supergraphPath, 'utf8');
  const runtime = await createRuntime({ ...settings, log, loadSupergraph });
  const { app, listen, close } = createHttpServer({
    config,
    log,
    readyChecks: { supergraph: async () => runtime.getSchema() },
  });
  const verify = createIdentityCheck(config);
  const live = serveLive({ app, config, log, verify, open: createOpener(runtime) });
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
      const response = await runtime.handleNodeRequestAndResponse(request, reply, {});
      if (response.body && isEventStream(response)) {
        const seat = live.reserve(reply);
        if (seat) live.send(request, reply, readLive(response.body), seat);
        else await response.body.cancel();
        return reply;
      }
      response.headers.forEach((value, name) => {
        void reply.header(name, value);
      });
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
