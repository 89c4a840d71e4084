import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { CloseCode, handleProtocols, makeServer, type ServerOptions, type SubscribePayload } from 'graphql-ws';
import { GraphQLError, parse, type ExecutionArgs, type ExecutionResult, type FormattedExecutionResult } from 'graphql';
import { WebSocketServer, type WebSocket } from 'ws';
import { messageOf, type ErrorCode } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import type { VerifyIdentity } from '../identity.js';
import type { Logger } from '../log.js';
import type { Connections, EndReason, Seat } from './connections.js';
import { expiryOf } from './expiry.js';
import { createStream, EXPIRED_TEXT, hasCode, type Results } from './results.js';

/** Who is at the other end of a WebSocket; verified when it was opened. */
export interface Caller {
  readonly authorization: string;
  readonly viewer: Viewer;
  readonly requestId: string;
}

/**
 * Starts one operation. What is wrong with it is its first and only result.
 * @throws BrokenOffError, from `next`, when the client should connect again
 */
export type OpenOperation = (operation: SubscribePayload, caller: Caller) => Promise<Results>;

export interface SocketSettings {
  readonly connections: Connections;
  readonly verify: VerifyIdentity;
  readonly open: OpenOperation;
  readonly log: Logger;
  readonly messageBytesMax: number;
}

interface Extra {
  readonly request: IncomingMessage;
  readonly connection: OpenSocket;
  caller?: Caller;
}

interface OpenSocket {
  readonly socket: WebSocket;
  expiresAt: number | null;
}

/** Operations at once on one connection. */
const OPERATIONS_MAX = 20;
/** Close codes beside those of the protocol (graphql-ws README): its clients connect again after these two. */
const GOING_AWAY = 1001;
const TRY_AGAIN_LATER = 1013;

/**
 * Speaks the graphql-transport-ws protocol at /graphql. Who connects says who they are, in `connectionParams.authorization`
 * (browsers can send no header) or in the Authorization header; without a good token nobody gets in.
 */
export function serveSockets(server: Server, settings: SocketSettings): void {
  const { connections, log } = settings;
  const sockets = new WebSocketServer({ noServer: true, maxPayload: settings.messageBytesMax, handleProtocols });
  const graphql = makeServer(protocolOptions(settings));

  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.once('error', () => stream.destroy());
    if (request.url?.split('?')[0] !== '/graphql') {
      refuse(stream, '404 Not Found');
      return;
    }
    const seat = connections.reserve();
    if (!seat) {
      refuse(stream, '503 Service Unavailable');
      return;
    }
    stream.once('close', () => seat.leave());
    sockets.handleUpgrade(request, stream, head, (socket) => {
      accept(socket, request, seat);
    });
  });

  function accept(socket: WebSocket, request: IncomingMessage, seat: Seat): void {
    const connection: OpenSocket = { socket, expiresAt: null };
    socket.on('error', (error) => {
      log.info({ error: messageOf(error) }, 'a live connection failed');
      socket.terminate();
    });
    const onClosed = graphql.opened(
      {
        protocol: socket.protocol,
        send: (text) => send(socket, text),
        close: (code, reason) => socket.close(code, reason),
        onMessage(handle) {
          socket.on('message', (data) => {
            handle(String(data as Buffer)).catch((error: unknown) => {
              log.warn({ error: messageOf(error) }, 'a live message could not be handled');
              socket.close(CloseCode.InternalServerError, 'Internal server error');
            });
          });
        },
      },
      { request, connection },
    );
    socket.once('close', (code, reason) => void onClosed(code, String(reason)));
    seat.take(connectionOf(connection));
  }
}

/** Resolves when the client's end has room for more: the next result is asked for only then. */
const send = (socket: WebSocket, text: string): Promise<void> =>
  new Promise((resolve) => {
    if (socket.readyState === socket.OPEN) socket.send(text, () => resolve());
    // What closes takes nothing any more. Its operations end with it; until then they must not go on by themselves.
    else if (socket.readyState === socket.CLOSING) socket.once('close', () => resolve());
    else resolve();
  });

function connectionOf(connection: OpenSocket) {
  const { socket } = connection;
  let isAlive = true;
  socket.on('pong', () => (isAlive = true));
  return {
    get expiresAt() {
      return connection.expiresAt;
    },
    pendingBytes: () => socket.bufferedAmount,
    ping() {
      if (!isAlive) {
        socket.terminate();
        return;
      }
      isAlive = false;
      socket.ping();
    },
    end(reason: EndReason) {
      // After 4403 a client of graphql-ws connects again, with the token that it has by then; 4401 would be the end.
      if (reason === 'expired') socket.close(CloseCode.Forbidden, EXPIRED_TEXT);
      else socket.close(GOING_AWAY, 'The server is stopping.');
    },
    cut: () => socket.terminate(),
  };
}

function protocolOptions({ verify, open }: SocketSettings): ServerOptions<Record<string, unknown>, Extra> {
  return {
    async onConnect({ connectionParams, extra }) {
      const authorization = authorizationOf(connectionParams) ?? extra.request.headers.authorization;
      const viewer = await verify(authorization).catch(() => null);
      if (!viewer || authorization === undefined) return false;
      extra.caller = { authorization, viewer, requestId: randomUUID() };
      extra.connection.expiresAt = expiryOf(authorization);
      return true;
    },
    async onSubscribe({ extra, subscriptions }, _, payload) {
      const { caller, connection } = extra;
      if (!caller) return [refusal('UNAUTHENTICATED', 'Sign in to do this.')];
      if (Object.keys(subscriptions).length > OPERATIONS_MAX) {
        return [refusal('RATE_LIMITED', `A connection may have ${OPERATIONS_MAX} operations at once.`)];
      }
      const results = await open(payload, caller);
      return { ...ANY_SUBSCRIPTION, contextValue: endingWith(results, connection.socket) };
    },
    subscribe: ({ contextValue }) => contextValue as AsyncGenerator<ExecutionResult>,
    // As they are: they were formatted where they were made.
    onNext: (_, __, ___, ____, result) => result as FormattedExecutionResult,
  };
}

/**
 * A stream that breaks off ends the connection, so that the client opens another one; so does one that ends as the token
 * has expired, which a server behind this one may notice first.
 */
function endingWith(results: Results, socket: WebSocket): Results {
  let hasBegun = false;
  const end = (code: number, reason: string): IteratorReturnResult<undefined> => {
    socket.close(code, reason);
    return { done: true, value: undefined };
  };
  return createStream(
    async () => {
      try {
        const result = await results.next();
        if (result.done) return result;
        if (hasBegun && hasCode(result.value, 'UNAUTHENTICATED')) return end(CloseCode.Forbidden, EXPIRED_TEXT);
        hasBegun = true;
        return result;
      } catch {
        return end(TRY_AGAIN_LATER, 'Try again later.');
      }
    },
    () => results.return?.(),
  );
}

function authorizationOf(params: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const value = params?.['authorization'] ?? params?.['Authorization'];
  return typeof value === 'string' ? value : undefined;
}

/** The package looks into a document to see that it is a subscription; which one is for `open` to say. */
const ANY_SUBSCRIPTION = { document: parse('subscription { _ }') } as ExecutionArgs;

const refusal = (code: ErrorCode, message: string) => new GraphQLError(message, { extensions: { code } });

function refuse(stream: Duplex, status: string): void {
  stream.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
