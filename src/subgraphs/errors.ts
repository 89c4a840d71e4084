import { unwrapResolverError } from '@apollo/server/errors';
import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { TidelineError, type ErrorCode } from '../domain/errors.js';

/**
 * What Apollo Server finds wrong before a resolver runs, and how a client reads it. Syntax and validation keep the codes
 * that GraphQL servers and clients share. The messages speak of the request only and are kept.
 */
const REQUEST_CODES: Readonly<Record<string, string>> = {
  GRAPHQL_PARSE_FAILED: 'GRAPHQL_PARSE_FAILED',
  GRAPHQL_VALIDATION_FAILED: 'GRAPHQL_VALIDATION_FAILED',
  BAD_USER_INPUT: 'BAD_USER_INPUT' satisfies ErrorCode,
  BAD_REQUEST: 'BAD_USER_INPUT' satisfies ErrorCode,
  OPERATION_TOO_COMPLEX: 'OPERATION_TOO_COMPLEX' satisfies ErrorCode,
  OPERATION_RESOLUTION_FAILURE: 'BAD_USER_INPUT' satisfies ErrorCode,
};

/**
 * The one place where a thrown error becomes what a client may read: a TidelineError keeps its code and message, an
 * error of the request its own, and everything else is INTERNAL_SERVER_ERROR with a neutral message, whatever NODE_ENV.
 * No HTTP status is set: with `extensions.http.status` the code is lost behind @apollo/gateway.
 */
export function formatError(formatted: GraphQLFormattedError, thrown: unknown): GraphQLFormattedError {
  const { locations, path } = formatted;
  const at = { ...(locations && { locations }), ...(path && { path }) };
  const error = unwrapResolverError(thrown);
  if (error instanceof TidelineError) return { message: error.message, ...at, extensions: { code: error.code } };
  const code = requestCodeOf(thrown);
  if (code) return { message: formatted.message, ...at, extensions: { code } };
  return { message: 'Something went wrong.', ...at, extensions: { code: 'INTERNAL_SERVER_ERROR' satisfies ErrorCode } };
}

/** What the log must keep because the client does not see it; null when the client sees everything. */
export function hiddenPartOf(thrown: GraphQLError): unknown {
  const error = unwrapResolverError(thrown);
  if (error instanceof TidelineError) return error.cause ? error : null;
  return requestCodeOf(thrown) ? null : error;
}

/** An error with a path comes from a resolver: its code and message may be those of a library. */
const requestCodeOf = (thrown: unknown): string | undefined =>
  thrown instanceof GraphQLError && !thrown.path ? REQUEST_CODES[String(thrown.extensions['code'])] : undefined;
