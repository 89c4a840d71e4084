import { TidelineError } from '../../src/domain/errors.js';
import { isDatabaseAway } from '../../src/stores/database-away.js';

/** True when an error says that a store was away or slow, which is no fault of whoever asked it. */
export function isOutage(error: unknown): boolean {
  if (isDatabaseAway(error)) return true;
  if (error instanceof TidelineError) return error.code === 'SERVICE_UNAVAILABLE';
  const { code, message, cause } = (error ?? {}) as { code?: unknown; message?: unknown; cause?: unknown };
  if (TIMEOUTS.includes(String(code)) || REDIS_AWAY.test(String(message))) return true;
  return cause !== undefined && isOutage(cause);
}

// Postgres: a statement was canceled for its time; a session idled in a transaction for too long.
const TIMEOUTS = ['57014', '25P03'];
const REDIS_AWAY =
  /^(Stream isn't writeable|Connection is closed|Command timed out|Reached the max retries|LOADING|MASTERDOWN|READONLY|another Redis answers now)|the feed is not complete/;
