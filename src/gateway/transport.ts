import type { GatewayConfigBase } from '@graphql-hive/gateway-runtime';
import { GraphQLError, OperationTypeNode, print, type ExecutionResult, type GraphQLFormattedError } from 'graphql';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../domain/errors.js';
import { EVENT_STREAM } from '../streaming/send-events.js';
import { UNREACHABLE } from './errors.js';
import { isEventStream, readSubscription, toGraphqlError } from './read-subscription.js';
import { factsOf } from './request-context.js';

type TransportMap = Exclude<
  NonNullable<GatewayConfigBase<Record<string, unknown>>['transports']>,
  (kind: string) => unknown
>;
type Transport = Extract<Awaited<TransportMap[string]>, { getSubgraphExecutor: unknown }>;
type Executor = Awaited<ReturnType<Transport['getSubgraphExecutor']>>;
type ExecutionRequest = Parameters<Executor>[0] & { context: { request: Request } };

/** Headers of the client's request that subgraphs get: who asks, and what joins logs and traces. */
const PASSED_ON = ['authorization', 'x-request-id', 'traceparent', 'tracestate', 'baggage'];

/** Answers of a proxy or of a process that is stopping, worth another attempt. */
const RETRIED_STATUS = new Set([502, 503, 504]);
const RETRY_PAUSE_MS = 50;

export interface TransportSettings {
  /** Milliseconds after which a subgraph, by its name, counts as unreachable for this request, all attempts together. */
  readonly timeoutMsOf: (subgraph: string) => number;
  /** How often a read is tried; a mutation is sent once, as it may have happened though its answer was lost. */
  readonly readAttempts: number;
}

/**
 * Asks subgraphs by POST. Hive's own transport joins a query to an equal one that is on its way, so that a read could be
 * answered with what was true before one's own write; and it hangs every request on one abort signal, which grows
 * between garbage collections and makes Node warn of a leak.
 */
export const createTransport = ({ timeoutMsOf, readAttempts }: TransportSettings): Transport => ({
  getSubgraphExecutor: ({ subgraphName, transportEntry, fetch = globalThis.fetch }) =>
    (async ({ document, variables, operationName, operationType, context, info }: ExecutionRequest) => {
      const isLive = operationType === OperationTypeNode.SUBSCRIPTION;
      const waiting = startWaiting(timeoutMsOf(subgraphName), factsOf(context)?.cancel);
      const init = {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: isLive ? EVENT_STREAM : 'application/graphql-response+json, application/json',
          ...pick(context.request.headers, PASSED_ON),
        },
        body: JSON.stringify({ query: printOnce(document), variables, operationName }),
        signal: waiting.signal,
      };
      const ask = async () => {
        const response = await fetch(transportEntry.location ?? '', init, context, info);
        if (isLive && response.body && isEventStream(response)) return readSubscription(response.body);
        return readResult(await response.text(), response.status);
      };
      try {
        return await retry(ask, operationType === OperationTypeNode.QUERY ? readAttempts : 1, waiting.signal);
      } catch (error) {
        const reason = messageOf(waiting.signal.aborted ? waiting.signal.reason : error);
        return { errors: [new GraphQLError(reason, { extensions: { code: UNREACHABLE } })] };
      } finally {
        waiting.end();
      }
    }) as Executor,
});

/** A signal that aborts after a time, or with the client's request. */
function startWaiting(timeoutMs: number, cancel: AbortSignal | undefined) {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    controller.abort(new Error(`no answer within ${timeoutMs} ms`));
  }, timeoutMs);
  const onCancel = () => {
    controller.abort(cancel?.reason);
  };
  cancel?.addEventListener('abort', onCancel);
  if (cancel?.aborted) onCancel();
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer);
      cancel?.removeEventListener('abort', onCancel);
    },
  };
}

/** @throws the last attempt's error */
async function retry<T>(ask: () => Promise<T>, attempts: number, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (attempt >= attempts || signal.aborted || !isPassing(error)) throw error;
      // Rejects when the time is up meanwhile.
      await pause(RETRY_PAUSE_MS * (0.5 + Math.random()), undefined, { signal });
    }
  }
}

/** Whether the next attempt may find the subgraph well: it broke the connection off or is behind a proxy that says so. */
const isPassing = (error: unknown): boolean => !(error instanceof NotGraphqlError) || RETRIED_STATUS.has(error.status);

/** An answer came, and it was not one of a GraphQL server. */
class NotGraphqlError extends Error {
  override readonly name = 'NotGraphqlError';

  constructor(readonly status: number) {
    super(`status ${status} without data or errors`);
  }
}

interface Answer {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly GraphQLFormattedError[];
}

/** @throws NotGraphqlError */
function readResult(text: string, status: number): ExecutionResult {
  const result = parseJson(text) as Answer | null;
  if (!result?.data && !result?.errors?.length) throw new NotGraphqlError(status);
  const { data = null, errors } = result;
  return errors ? { data, errors: errors.map(toGraphqlError) } : { data };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const pick = (headers: Headers, names: readonly string[]) =>
  Object.fromEntries(
    names.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );

/** Plans are cached, and with them the documents that they send. */
const printed = new WeakMap<Parameters<typeof print>[0], string>();

function printOnce(document: Parameters<typeof print>[0]): string {
  const known = printed.get(document);
  if (known !== undefined) return known;
  const text = print(document);
  printed.set(document, text);
  return text;
}
