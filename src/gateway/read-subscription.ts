import { GraphQLError, type ExecutionResult, type FormattedExecutionResult, type GraphQLFormattedError } from 'graphql';
import { messageOf } from '../domain/errors.js';
import { readEvents } from '../streaming/read-events.js';
import { createStream } from '../streaming/results.js';
import { EVENT_STREAM } from '../streaming/send-events.js';
import { UNREACHABLE } from './errors.js';

/** Pings come every 12 s (GraphQL over SSE servers that send none would need a longer time). */
const SILENT_MS = 30_000;

export const isEventStream = ({ headers }: Response): boolean =>
  headers.get('content-type')?.startsWith(EVENT_STREAM) ?? false;

/** A subscription's results from a subgraph. One that breaks off ends with an error: the router does not expect a throw. */
export function readSubscription(body: ReadableStream<Uint8Array>): AsyncIterableIterator<ExecutionResult> {
  const results = readEvents(body, SILENT_MS);
  let isOver = false;
  return createStream<ExecutionResult>(
    async () => {
      if (isOver) return { done: true, value: undefined };
      try {
        const result = await results.next();
        return result.done ? result : { value: toResult(result.value) };
      } catch (error) {
        isOver = true;
        return { value: { errors: [new GraphQLError(messageOf(error), { extensions: { code: UNREACHABLE } })] } };
      }
    },
    () => results.return?.(),
  );
}

const toResult = ({ data, errors }: FormattedExecutionResult): ExecutionResult => ({
  ...(data !== undefined && { data }),
  ...(errors && { errors: errors.map(toGraphqlError) }),
});

export const toGraphqlError = ({ message, ...rest }: GraphQLFormattedError): GraphQLError =>
  new GraphQLError(message, rest);
