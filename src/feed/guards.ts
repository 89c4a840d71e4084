import {
  bulkhead,
  BulkheadRejectedError,
  circuitBreaker,
  CircuitState,
  ConsecutiveBreaker,
  handleAll,
} from 'cockatiel';
import { unavailable } from '../domain/errors.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';

/** Failures in a row after which Redis is left alone, and for how long before one read tries it again. */
const BREAKER_FAILURES = 5;
const BREAKER_PAUSE_MS = 1_000;

/**
 * Reads of an inbox that stop waiting for a Redis which does not answer: after some failures each read fails at once, and
 * the outboxes stand in for it, until one try a second succeeds.
 */
export function guardInboxReads(
  inbox: InboxStore,
  onChange: (state: 'open' | 'closed') => void,
): Pick<InboxStore, 'name' | 'read'> {
  const breaker = circuitBreaker(handleAll, {
    halfOpenAfter: BREAKER_PAUSE_MS,
    breaker: new ConsecutiveBreaker(BREAKER_FAILURES),
  });
  breaker.onStateChange((state) => {
    if (state === CircuitState.Open) onChange('open');
    if (state === CircuitState.Closed) onChange('closed');
  });
  return { name: inbox.name, read: (...args) => breaker.execute(() => inbox.read(...args)) };
}

/** Runs a pull that stands in for inboxes, when there is room for it. */
export type StandIn = <T>(pull: () => Promise<T>) => Promise<T>;

/**
 * Bounds the pulls that stand in for lost inboxes: all readers come at once then, and Postgres has other work too.
 * @param concurrency pulls at once
 * @param waiting readers that wait for their turn; further ones get SERVICE_UNAVAILABLE, and their page says so.
 */
export function capStandIns(concurrency: number, waiting: number): StandIn {
  const cap = bulkhead(concurrency, waiting);
  return (pull) =>
    cap.execute(pull).catch((error: unknown) => {
      if (error instanceof BulkheadRejectedError) throw unavailable('Too many timelines are being restored.', error);
      throw error;
    });
}
