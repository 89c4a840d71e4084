import type { GatewayConfigBase } from '@graphql-hive/gateway-runtime';
import { GraphQLError, OperationTypeNode, print, type ExecutionResult, type GraphQLFormattedError } from 'graphql';
import { messageOf } from '../domain/errors.js';
import { EVENT_STREAM } from '../streaming/send-events.js';
import { UNREACHABLE } from './errors.js';
import { isEventStream, readSubscription, toGraphqlError } from './read-subscription.js';

type TransportMap = Exclude<
  NonNullable<GatewayConfigBase<Record<string, unknown>>['transports']>,
  (kind: string) => unknown
>;
type Transport = Extract<Awaited<TransportMap[string]>, { getSubgraphExecutor: unknown }>;
type Executor = Awaited<ReturnType<Transport['getSubgraphExecutor']>>;
type ExecutionRequest = Parameters<Executor>[0] & { context: { request: Request } };

/**
 * Asks subgraphs by POST. Hive's own transport joins a query to an equal one that is on its way, so that a read could be
 * answered with what was true before one's own write; and it hangs every request on one abort signal, which grows
 * between garbage collections and makes Node warn of a leak.
 *
 * @param timeoutMs after which a subgraph counts as unreachable for this request.
 */
export const createTransport = (timeoutMs: number): Transport => ({
  getSubgraphExecutor: ({ transportEntry, fetch = globalThis.fetch }) =>
    (async ({ document, variables, operationName, operationType, context, info }: ExecutionRequest) => {
      const isLive = operationType === OperationTypeNode.SUBSCRIPTION;
      const abort = new AbortController();
      const timer = setTimeout(() => {
        abort.abort(new Error(`no answer within ${timeoutMs} ms`));
      }, timeoutMs);
      try {
        const init = {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            accept: isLive ? EVENT_STREAM : 'application/graphql-response+json, application/json',
            ...pick(context.request.headers, ['authorization', 'x-request-id']),
          },
          body: JSON.stringify({ query: printOnce(document), variables, operationName }),
          signal: abort.signal,
        };
        const response = await fetch(transportEntry.location ?? '', init, context, info);
        if (isLive && response.body && isEventStream(response)) return readSubscription(response.body);
        return readResult(await response.text(), response.status);
      } catch (error) {
        const reason = messageOf(abort.signal.aborted ? abort.signal.reason : error);
        return { errors: [new GraphQLError(reason, { extensions: { code: UNREACHABLE } })] };
      } finally {
        clearTimeout(timer);
      }
    }) as Executor,
});

/** @throws when this is no answer of a GraphQL server. */
function readResult(text: string, status: number): ExecutionResult {
  const result = JSON.parse(text) as { data?: Record<string, unknown> | null; errors?: GraphQLFormattedError[] } | null;
  if (!result?.data && !result?.errors?.length) throw new Error(`status ${status} without data or errors`);
  const { data = null, errors } = result;
  return errors ? { data, errors: errors.map(toGraphqlError) } : { data };
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
