import { GraphQLError, type ExecutionResult, type GraphQLFormattedError } from 'graphql';
import type { ErrorCode } from '../domain/errors.js';

/** Set on the error of a subgraph that is down, slow, or answers with something else than GraphQL. */
export const UNREACHABLE = 'SUBGRAPH_UNREACHABLE';

type ErrorList = NonNullable<ExecutionResult['errors']>;

/** Codes that a subgraph gives on purpose (TidelineError): their messages are meant for clients. */
const PUBLIC_CODES: ReadonlySet<unknown> = new Set<ErrorCode>([
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'BAD_USER_INPUT',
  'INVALID_CURSOR',
  'RATE_LIMITED',
  'OPERATION_TOO_COMPLEX',
  'SERVICE_UNAVAILABLE',
]);

/** A subgraph did not answer; the other codes are Hive's, for the same and for a supergraph that is being replaced. */
const UNREACHABLE_CODES: ReadonlySet<unknown> = new Set([UNREACHABLE, 'DOWNSTREAM_SERVICE_ERROR', 'SCHEMA_RELOAD']);

/** Codes that Hive gives to a request that is refused before it is executed, and how a client reads them. */
const REQUEST_CODES: Readonly<Record<string, string>> = {
  GRAPHQL_PARSE_FAILED: 'GRAPHQL_PARSE_FAILED',
  GRAPHQL_VALIDATION_FAILED: 'GRAPHQL_VALIDATION_FAILED',
  // The one that clients of persisted queries go by.
  PERSISTED_QUERY_NOT_FOUND: 'PERSISTED_QUERY_NOT_FOUND',
  OPERATION_TOO_COMPLEX: 'OPERATION_TOO_COMPLEX' satisfies ErrorCode,
  RATE_LIMITED: 'RATE_LIMITED' satisfies ErrorCode,
  FORBIDDEN: 'FORBIDDEN' satisfies ErrorCode,
  BAD_USER_INPUT: 'BAD_USER_INPUT' satisfies ErrorCode,
  BAD_REQUEST: 'BAD_USER_INPUT' satisfies ErrorCode,
  OPERATION_RESOLUTION_FAILURE: 'BAD_USER_INPUT' satisfies ErrorCode,
  REQUEST_ENTITY_TOO_LARGE: 'BAD_USER_INPUT' satisfies ErrorCode,
};

/**
 * What a client may read of the gateway's errors: codes, public messages and paths, never a URL, a subgraph's query or
 * a stack trace, whatever NODE_ENV. The counterpart of src/subgraphs/errors.ts for what comes from elsewhere.
 *
 * @param onHidden gets each error that the client does not see, for the log.
 */
export function maskErrors(
  errors: ErrorList,
  options: {
    hideSuggestions: boolean;
    /** Codes of foreign subgraphs that clients may see with their messages (EXTRA_ERROR_CODES). */
    extraCodes?: readonly string[];
    onHidden: (error: GraphQLError) => void;
  },
): GraphQLError[] {
  return errors.map((error) => {
    const shown = describeError(error, options.extraCodes ?? []);
    if (shown.message !== error.message) options.onHidden(error);
    const message = options.hideSuggestions ? withoutSuggestion(shown.message) : shown.message;
    return toError({ ...shown, message });
  });
}

function describeError(error: GraphQLError, extraCodes: readonly string[]): GraphQLFormattedError {
  const { code, serviceName } = error.extensions;
  const path = error.path && { path: error.path };
  if (!serviceName && !error.path) {
    // The HTTP status and the positions are those of the client's own request.
    const requestCode = code === undefined && !isForeign(error) ? 'BAD_USER_INPUT' : REQUEST_CODES[String(code)];
    const locations = error.locations && { locations: error.locations };
    if (requestCode)
      return { message: error.message, ...locations, extensions: { code: requestCode, ...httpOf(error) } };
  }
  if (UNREACHABLE_CODES.has(code)) {
    return {
      message: 'A service behind this field is unavailable.',
      ...path,
      extensions: coded('SERVICE_UNAVAILABLE'),
    };
  }
  // Without positions: a subgraph's are those of a query that the client never wrote.
  if (PUBLIC_CODES.has(code) || extraCodes.includes(String(code)))
    return { message: error.message, ...path, extensions: { code } };
  return { message: 'Something went wrong.', ...path, extensions: coded('INTERNAL_SERVER_ERROR') };
}

/**
 * What Yoga makes the HTTP status of. `spec` allows 200 under application/json, which is for well-formed requests only: a
 * body that is no JSON, told by the error of the JSON parser inside, stays a 400.
 */
function httpOf({ extensions }: GraphQLError): { http?: unknown } {
  const { http, originalError } = extensions as { http?: { status: number; spec?: boolean }; originalError?: unknown };
  if (!http) return {};
  return { http: originalError ? { ...http, spec: false } : http };
}

const coded = (code: ErrorCode) => ({ code });

/** Made from something that was no GraphQL error: a bug, or a failure of a system below. */
const isForeign = ({ originalError }: GraphQLError): boolean =>
  originalError !== undefined && !(originalError instanceof GraphQLError);

const withoutSuggestion = (message: string) => message.replace(/ Did you mean .*\?$/s, '');

/** An error object again, as Yoga takes the HTTP status of a refused request from it; `locations` has no setter. */
function toError({ message, locations, path, extensions }: GraphQLFormattedError): GraphQLError {
  const error = new GraphQLError(message, { path, extensions });
  if (locations) Object.defineProperty(error, 'locations', { value: locations, enumerable: true });
  return error;
}
