import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.js';
import { errorBody } from '../http.js';
import type { VerifyIdentity } from '../identity.js';
import type { Logger } from '../log.js';
import { createConnections, type Seat } from './connections.js';
import { expiryOf } from './expiry.js';
import type { Results } from './results.js';
import { EVENT_STREAM, sendEvents } from './send-events.js';
import { serveSockets, type OpenOperation } from './serve-sockets.js';

export interface LiveSettings {
  readonly app: FastifyInstance;
  readonly config: Pick<Config, 'LIVE_CONNECTIONS_MAX' | 'LIVE_SLOW_MS' | 'BODY_LIMIT_BYTES'>;
  readonly log: Logger;
  readonly verify: VerifyIdentity;
  /** Starts an operation that came by WebSocket. */
  readonly open: OpenOperation;
}

export interface LiveServer {
  /** A place for a request that wants events; null when it was answered that there is none. */
  reserve(reply: FastifyReply): Seat | null;
  send(request: FastifyRequest, reply: FastifyReply, results: Results, seat: Seat): void;
}

/**
 * What makes a server at /graphql speak to open connections, by server-sent events and by the graphql-transport-ws
 * protocol: their number is bounded, slow ones are cut, they end with their token, and with the server.
 */
export function serveLive({ app, config, log, verify, open }: LiveSettings): LiveServer {
  const connections = createConnections({
    max: config.LIVE_CONNECTIONS_MAX,
    slowMs: config.LIVE_SLOW_MS,
    onSlow: () => {
      log.warn('a client that does not take its updates was cut off');
    },
  });
  serveSockets(app.server, { connections, verify, open, log, messageBytesMax: config.BODY_LIMIT_BYTES });
  app.addHook('preClose', () => connections.close());
  return {
    reserve(reply) {
      const seat = connections.reserve();
      if (!seat) {
        const body = errorBody('SERVICE_UNAVAILABLE', 'Too many live connections are open.');
        void reply.code(503).header('retry-after', RETRY_AFTER_S).send(body);
        return null;
      }
      return seat;
    },
    send(request, reply, results, seat) {
      sendEvents(reply, results, { seat, expiresAt: expiryOf(request.headers.authorization) });
    },
  };
}

export const wantsEvents = ({ headers }: FastifyRequest): boolean => headers.accept?.includes(EVENT_STREAM) ?? false;

const RETRY_AFTER_S = 5;
