import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import Fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import type { Config } from './config.js';
import { TidelineError, type ErrorCode } from './domain/errors.js';
import type { Viewer } from './domain/viewer.js';
import type { VerifyIdentity } from './identity.js';
import type { Logger } from './log.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by identify(); null without a token. */
    viewer: Viewer | null;
    /** Aborted when the client has gone or the request took too long: nobody waits for what is still being done. */
    cancel: AbortSignal;
  }
}

/** Rejects when the thing is not usable. Its message goes to the log only. */
export type ReadyChecks = Readonly<Record<string, () => Promise<unknown>>>;

export interface RunningServer {
  /** `http://host:port` */
  readonly url: string;
  close(): Promise<void>;
}

export interface HttpServer {
  readonly app: FastifyInstance;
  /** @param setting the variable that chooses the port, for the message when it is taken. */
  readonly listen: (port: number, setting: string) => Promise<string>;
  /** Stops accepting, lets requests in flight end, and cuts those that take longer than SHUTDOWN_TIMEOUT_MS. */
  readonly close: () => Promise<void>;
}

export interface HttpSettings {
  readonly config: Pick<
    Config,
    'HOST' | 'BODY_LIMIT_BYTES' | 'REQUEST_TIMEOUT_MS' | 'SHUTDOWN_TIMEOUT_MS' | 'isProduction' | 'TRUSTED_PROXIES'
  >;
  readonly log: Logger;
  readonly readyChecks: ReadyChecks;
}

const READY_CHECK_TIMEOUT_MS = 2_000;
const IDLE_SWEEP_MS = 25;

/** For answers that are data. Pages (GraphiQL, the dashboard) replace the policy by their own. */
const SECURE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
};
/** Behind a proxy that ends TLS; browsers ignore it over plain HTTP. */
const HTTPS_ONLY = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' };

/** What the gateway, the subgraphs and the operations server have in common. */
export function createHttpServer({ config, log, readyChecks }: HttpSettings): HttpServer {
  const loggerInstance: FastifyBaseLogger = log;
  const app = Fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: config.BODY_LIMIT_BYTES,
    requestTimeout: config.REQUEST_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    genReqId: requestIdOf,
    trustProxy: config.TRUSTED_PROXIES.length > 0 ? [...config.TRUSTED_PROXIES] : false,
  });
  app.decorateRequest('viewer', null);
  app.decorateRequest('cancel');
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, ...SECURE_HEADERS, ...(config.isProduction && HTTPS_ONLY) });
    request.cancel = answerWithin(reply, config.REQUEST_TIMEOUT_MS);
  });
  app.setNotFoundHandler((_, reply) => reply.code(404).send(errorBody('NOT_FOUND', 'There is nothing at this path.')));
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    const status = error.statusCode ?? 500;
    // Fastify closes the connection of a request whose body is too large. A client that is still sending would see a
    // reset instead of the answer; Node discards the rest when the connection stays, up to requestTimeout.
    if (status === 413) reply.removeHeader('connection');
    if (status >= 500) log.error({ err: error, requestId: request.id }, 'request failed');
    return reply.code(status).send(describeHttpError(error, config));
  });
  serveHealth(app, readyChecks, log);
  const sockets = new Set<Socket>();
  app.server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return {
    app,
    listen: (port, setting) => listen(app, { host: config.HOST, port, setting }),
    close: () => closeWithin(app, sockets, config.SHUTDOWN_TIMEOUT_MS),
  };
}

/** A GraphQL answer without data, for what fails before GraphQL. */
export const errorBody = (code: ErrorCode, message: string) => ({ errors: [{ message, extensions: { code } }] });

/** A route's onRequest hook: a bad token is answered before anything of the operation is read. */
export const identify = (verify: VerifyIdentity) => async (request: FastifyRequest, reply: FastifyReply) => {
  try {
    request.viewer = await verify(request.headers.authorization);
  } catch (error) {
    if (!(error instanceof TidelineError)) throw error;
    // A key server that is away is no fault of the token.
    if (error.code === 'SERVICE_UNAVAILABLE') return reply.code(503).send(errorBody(error.code, error.message));
    // As GraphQL over HTTP has it: under application/json a well-formed answer is a 200, whatever it says.
    const type = 'application/graphql-response+json';
    if (request.headers.accept?.includes(type)) reply.code(401).type(type);
    return reply.send(errorBody(error.code, error.message));
  }
};

/**
 * An onRequest hook for /metrics: with METRICS_TOKEN set, only for whoever sends it as a bearer token, as Prometheus can.
 * Metrics name no user and no content, so without the setting the port is what guards them.
 */
export const guardMetrics =
  ({ METRICS_TOKEN }: Pick<Config, 'METRICS_TOKEN'>) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    if (METRICS_TOKEN === undefined || isSame(request.headers.authorization, `Bearer ${METRICS_TOKEN}`)) return;
    await reply
      .code(401)
      .header('www-authenticate', 'Bearer')
      .send(errorBody('UNAUTHENTICATED', 'Metrics need METRICS_TOKEN as a bearer token.'));
  };

/** In a time that tells nothing of how much is right: digests have one length. */
function isSame(given: string | undefined, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return given !== undefined && timingSafeEqual(digest(given), digest(wanted));
}

/** A failure that the operator can mend. It is told by its message alone, without a stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

async function listen(app: FastifyInstance, at: { host: string; port: number; setting: string }): Promise<string> {
  try {
    return await app.listen({ host: at.host, port: at.port });
  } catch (error) {
    await app.close();
    const { code } = error as NodeJS.ErrnoException;
    const where = `${at.host}:${at.port}`;
    if (code === 'EADDRINUSE') {
      throw new StartError(`Port ${where} is taken. Stop what uses it, or set ${at.setting} to another port.`);
    }
    if (code === 'EACCES') throw new StartError(`Port ${where} needs privileges. Set ${at.setting} to another port.`);
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new StartError(`HOST=${at.host} is no address of this machine.`);
    throw error;
  }
}

async function closeWithin(app: FastifyInstance, sockets: Iterable<Socket>, timeoutMs: number): Promise<void> {
  const { server } = app;
  // Idle connections are closed once by Fastify; those that become idle by ending their last request are found here.
  const sweep = setInterval(() => {
    server.closeIdleConnections();
    // To Node a connection that never sent anything is not idle: fetch opens one ahead when a stream is cancelled.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }, IDLE_SWEEP_MS);
  const deadline = setTimeout(() => {
    server.closeAllConnections();
  }, timeoutMs);
  await app.close();
  clearInterval(sweep);
  clearTimeout(deadline);
}

/**
 * requestTimeout above limits receiving a request, this answering it. Fastify's own handlerTimeout ends at the request's
 * `close` event, which Node emits as soon as a body is read: it never fires for a POST.
 *
 * @returns what is aborted when the answer is wanted no longer.
 */
function answerWithin(reply: FastifyReply, timeoutMs: number): AbortSignal {
  const work = new AbortController();
  const timer = setTimeout(() => {
    if (reply.sent) return;
    void reply.code(503).send(errorBody('SERVICE_UNAVAILABLE', 'The request took too long.'));
    work.abort(new Error(`no answer within ${timeoutMs} ms`));
  }, timeoutMs);
  reply.raw.once('close', () => {
    clearTimeout(timer);
    if (!reply.raw.writableFinished) work.abort(new Error('the client has gone'));
  });
  return work.signal;
}

/** The caller's id when it is a plain one, so that it cannot forge log lines; else a new one. */
function requestIdOf(request: { headers: NodeJS.Dict<string | string[]> }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID();
}

function describeHttpError(error: FastifyError, config: HttpSettings['config']) {
  const status = error.statusCode ?? 500;
  if (status === 413) {
    return errorBody('BAD_USER_INPUT', `The request body is larger than ${config.BODY_LIMIT_BYTES} bytes.`);
  }
  if (status === 415) return errorBody('BAD_USER_INPUT', 'The content type must be application/json.');
  if (status < 500) return errorBody('BAD_USER_INPUT', 'The request could not be read.');
  if (status === 503) return errorBody('SERVICE_UNAVAILABLE', 'The server is stopping.');
  return errorBody('INTERNAL_SERVER_ERROR', 'Something went wrong.');
}

/** live: the process answers. ready: what it needs does too; 503 names what does not. */
function serveHealth(app: FastifyInstance, checks: ReadyChecks, log: Logger): void {
  app.get('/health/live', () => ({ status: 'live' }));
  app.get('/health/ready', async (_: FastifyRequest, reply) => {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => {
        try {
          await withTimeout(check(), READY_CHECK_TIMEOUT_MS);
          return [name, 'up'] as const;
        } catch (error) {
          log.warn({ err: error, check: name }, 'not ready');
          return [name, 'down'] as const;
        }
      }),
    );
    const isReady = results.every(([, state]) => state === 'up');
    return reply
      .code(isReady ? 200 : 503)
      .send({ status: isReady ? 'ready' : 'not ready', checks: Object.fromEntries(results) });
  });
}

/** @throws when `work` takes longer; it goes on unwatched. */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no answer within ${timeoutMs} ms`));
    }, timeoutMs);
  });
  return Promise.race([work, timeout]).finally(() => {
    clearTimeout(timer);
  });
}
