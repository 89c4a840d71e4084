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
import type { RedisIdentity } from '../stores/redis-identity.js';
import type { OutboxProjections } from './pull-outboxes.js';

/** Failures in a row after which Redis is left alone, and for how long before one read tries it again. */
const BREAKER_FAILURES = 5;
const BREAKER_PAUSE_MS = 1_000;

/** The reads that go to Redis. */
export interface RedisReads {
  readonly inbox: Pick<InboxStore, 'name' | 'read'>;
  readonly projections: OutboxProjections;
}

/**
 * Reads of Redis that stop waiting for one which does not answer: after some failures each read fails at once, and the
 * outboxes stand in for it, until one try a second succeeds. And reads that know since which epoch the Redis which
 * answered may be relied on: one that came back in between may have lost what was pushed last.
 */
export function guardRedisReads(
  reads: RedisReads,
  identity: RedisIdentity,
  onChange: (state: 'open' | 'closed') => void,
): RedisReads {
  const breaker = createRedisBreaker();
  breaker.onStateChange((state) => {
    if (state === CircuitState.Open) onChange('open');
    if (state === CircuitState.Closed) onChange('closed');
  });

  const guard = <T>(read: () => Promise<T>, mark: (result: T, validSince: bigint) => T): Promise<T> =>
    breaker.execute(async () => {
      const validSince = await identity.validSince();
      const result = await read();
      if ((await identity.validSince()) !== validSince) throw new Error('another Redis answers now');
      return mark(result, validSince);
    });
  const { inbox, projections } = reads;
  return {
    inbox: {
      name: inbox.name,
      read: (...args) =>
        guard(
          () => inbox.read(...args),
          (page, validSince) => ({ ...page, validSince }),
        ),
    },
    projections: {
      readMany: (requests) =>
        guard(
          () => projections.readMany(requests),
          (pages, validSince) => pages.map((page) => ({ ...page, validSince })),
        ),
    },
  };
}

/** After some failures in a row everything fails at once, until one try a second succeeds. */
export const createRedisBreaker = () =>
  circuitBreaker(handleAll, {
    halfOpenAfter: BREAKER_PAUSE_MS,
    breaker: new ConsecutiveBreaker(BREAKER_FAILURES),
  });

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
