/** The public error codes (SPEC: `extensions.code`). Clients rely on them. */
export type ErrorCode =
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'BAD_USER_INPUT'
  | 'INVALID_CURSOR'
  | 'RATE_LIMITED'
  | 'OPERATION_TOO_COMPLEX'
  | 'SERVICE_UNAVAILABLE'
  | 'INTERNAL_SERVER_ERROR';

/**
 * An error whose message a client may read. It is translated to GraphQL once, at the edge (src/subgraphs/errors.ts);
 * anything that is not a TidelineError reaches the client as INTERNAL_SERVER_ERROR without its message.
 */
export class TidelineError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'TidelineError';
    this.code = code;
  }
}

export const badInput = (message: string): TidelineError => new TidelineError('BAD_USER_INPUT', message);
export const notFound = (message: string): TidelineError => new TidelineError('NOT_FOUND', message);
export const forbidden = (message: string): TidelineError => new TidelineError('FORBIDDEN', message);
export const invalidCursor = (message: string): TidelineError => new TidelineError('INVALID_CURSOR', message);
export const unavailable = (message: string, cause?: unknown): TidelineError =>
  new TidelineError('SERVICE_UNAVAILABLE', message, { cause });

/** The message of anything thrown, for logs. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));
