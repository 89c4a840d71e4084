import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '../domain/clock.js';
import { messageOf, unavailable } from '../domain/errors.js';
import { nextSnowflake, startAfter, type Snowflake, type SnowflakeState } from '../domain/snowflake.js';
import type { Queryable } from '../stores/database.js';
import { LEASE_MS, releaseLease, renewLease, takeLease } from '../stores/id-leases.js';

export interface IdGenerator {
  /**
   * Makes sure of a lease. Call it before a transaction: a command that waited for a lease while it held one of the
   * pool's connections could wait for itself.
   * @throws TidelineError SERVICE_UNAVAILABLE when no lease can be had.
   */
  ready(): Promise<void>;
  /** @throws TidelineError SERVICE_UNAVAILABLE without a lease that stands. */
  next(): Snowflake;
  /** Gives the lease back. */
  close(): Promise<void>;
}

export interface IdGeneratorDeps {
  readonly pool: Queryable;
  readonly clock: Clock;
  readonly log: { warn(details: object, message: string): void };
  /** Milliseconds that never go back, for the age of the lease. */
  readonly monotonicClock?: Clock;
}

const RENEW_MS = 15_000;

interface Lease {
  readonly workerId: number;
  /** On the monotonic clock, counted from before the request, so that it ends here before it ends in the database. */
  validUntil: number;
  /** The last millisecond that ids may carry. */
  reservedThroughMs: number;
  state: SnowflakeState;
}

/**
 * Ids that are unique across processes: each process leases a worker id of its own.
 *
 * States of a generator, and who moves it:
 * - idle: at the start, so that a start does not need Postgres for it. ready() leases.
 * - leased: next() works. A timer renews each 15 s; a lease lasts 60 s.
 * - lapsed: renewals failed for too long, or the clock jumped beyond the reserved milliseconds. next() refuses; ready()
 *   renews, or leases another worker id when this one is somebody else's by now.
 * - closed: the lease was given back.
 */
export function createIdGenerator(deps: IdGeneratorDeps): IdGenerator {
  const { pool, clock, log, monotonicClock = () => performance.now() } = deps;
  const holder = `${hostname()}/${process.pid}/${randomUUID()}`;
  let lease: Lease | null = null;
  let pending: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  const stands = (held: Lease, nowMs: number): boolean =>
    monotonicClock() < held.validUntil && Math.max(nowMs, held.state.lastTimeMs) < held.reservedThroughMs;

  /** One at a time: whoever comes meanwhile waits for the same lease. */
  async function settleLease(): Promise<void> {
    pending ??= renewOrTake().finally(() => (pending = null));
    return pending;
  }

  async function renewOrTake(): Promise<void> {
    const validUntil = monotonicClock() + LEASE_MS;
    if (lease) {
      const reservedThroughMs = Math.max(clock(), lease.state.lastTimeMs) + LEASE_MS;
      if (await renewLease(pool, { workerId: lease.workerId, holder, reservedThroughMs })) {
        lease.validUntil = validUntil;
        lease.reservedThroughMs = Math.max(lease.reservedThroughMs, reservedThroughMs);
        return;
      }
      log.warn({ workerId: lease.workerId }, 'the lease of this worker id was taken over');
      lease = null;
    }
    const nowMs = clock();
    const taken = await takeLease(pool, { holder, nowMs, reservedMs: LEASE_MS });
    if (!taken) throw new Error('no worker id is free');
    const { workerId, previousTimeMs } = taken;
    const reservedThroughMs = Math.max(nowMs, previousTimeMs) + LEASE_MS;
    lease = { workerId, validUntil, reservedThroughMs, state: startAfter(previousTimeMs) };
  }

  function renewInBackground(): void {
    settleLease().catch((error: unknown) => log.warn({ error: messageOf(error) }, 'renewing the worker id lease'));
  }

  return {
    async ready() {
      if (isClosed) throw unavailable('The service is shutting down.');
      if (lease && stands(lease, clock())) return;
      timer ??= setInterval(renewInBackground, RENEW_MS).unref();
      try {
        await settleLease();
      } catch (error) {
        throw unavailable('No new ids can be given out at the moment.', error);
      }
    },
    next() {
      const nowMs = clock();
      if (!lease || !stands(lease, nowMs)) throw unavailable('No new ids can be given out at the moment.');
      const [snowflake, state] = nextSnowflake(lease.state, nowMs, lease.workerId);
      lease.state = state;
      return snowflake;
    },
    async close() {
      isClosed = true;
      clearInterval(timer);
      await pending?.catch(() => null);
      const held = lease;
      lease = null;
      if (!held) return;
      // Left behind it would expire by itself.
      await releaseLease(pool, { workerId: held.workerId, holder, lastTimeMs: held.state.lastTimeMs }).catch(
        (error: unknown) => log.warn({ error: messageOf(error) }, 'giving back the worker id lease'),
      );
    },
  };
}
