import { TidelineError } from '../../src/domain/errors.js';
import { isDatabaseAway } from '../../src/stores/database-away.js';
import { isRedisAway } from '../../src/stores/redis-away.js';

/** True when an error says that a store was away or slow, which is no fault of whoever asked it. */
export function isOutage(error: unknown): boolean {
  if (isDatabaseAway(error) || isRedisAway(error)) return true;
  if (error instanceof TidelineError) return error.code === 'SERVICE_UNAVAILABLE';
  const { code, message, cause } = (error ?? {}) as { code?: unknown; message?: unknown; cause?: unknown };
  if (code === STATEMENT_TIMEOUT || INCOMPLETE.test(String(message))) return true;
  return cause !== undefined && isOutage(cause);
}

const STATEMENT_TIMEOUT = '57014';
// What walkFeed says of a page that says that it is not complete.
const INCOMPLETE = /^the feed is not complete/;
