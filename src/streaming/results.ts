import type { FormattedExecutionResult } from 'graphql';
import { TidelineError, type ErrorCode } from '../domain/errors.js';

/** What an operation answers, again and again; `return` ends it at once, also while a result is waited for. */
export type Results = AsyncIterableIterator<FormattedExecutionResult>;

/**
 * A stream whose `return` runs `end` at once. A generator would wait for the value that is on its way, and the source would
 * stay open until it came.
 */
export function createStream<T>(
  next: () => Promise<IteratorResult<T, unknown>>,
  end: () => unknown,
): AsyncIterableIterator<T> {
  let isEnded = false;
  const stream: AsyncIterableIterator<T> = {
    async next() {
      const result = isEnded ? null : await next();
      return !result || result.done ? { done: true, value: undefined } : result;
    },
    async return() {
      isEnded = true;
      await end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => stream,
  };
  return stream;
}

export function mapStream<T, U>(source: AsyncIterable<T>, map: (value: T) => U): AsyncIterableIterator<U> {
  const values = source[Symbol.asyncIterator]();
  return createStream(
    async () => {
      const result = await values.next();
      return result.done ? result : { value: map(result.value) };
    },
    () => values.return?.(),
  );
}

/** The answer ended although its operation did not: the client may ask again. */
export class BrokenOffError extends TidelineError {
  constructor() {
    super('SERVICE_UNAVAILABLE', 'The service behind this field broke off.');
    this.name = 'BrokenOffError';
  }
}

export const EXPIRED_TEXT = 'The token has expired.';

/** Told to a client whose token has expired. */
export const EXPIRED: FormattedExecutionResult = {
  errors: [{ message: EXPIRED_TEXT, extensions: { code: 'UNAUTHENTICATED' } }],
};

export const hasCode = ({ errors }: FormattedExecutionResult, code: ErrorCode): boolean =>
  errors?.some(({ extensions }) => extensions?.['code'] === code) ?? false;

/** One result, as a stream. */
export async function* once(result: FormattedExecutionResult): Results {
  yield result;
}
