/** Why the server ends a connection that its client would have kept. */
export type EndReason = 'stopping' | 'expired';

/** A connection that stays open for as long as its client wants news. */
export interface Connection {
  /** Epoch milliseconds; null for a token without an end, and before there is one. */
  readonly expiresAt: number | null;
  /** Bytes that the client did not take yet. */
  pendingBytes(): number;
  /** Keeps proxies from cutting it, and finds out whether the client is still there. */
  ping(): void;
  /** In order, telling the client why. */
  end(reason: EndReason): void;
  /** At once. */
  cut(): void;
}

export interface Connections {
  /** Null when there is no room; else the seat of one connection, to be taken by it and left at its end. */
  reserve(): Seat | null;
  /** Ends all of them; resolves when they are gone. Nobody gets in any more. */
  close(): Promise<void>;
}

export interface Seat {
  take(connection: Connection): void;
  /** Safe to repeat. */
  leave(): void;
}

const LOOK_MS = 250;
const PING_MS = 12_000;
/** Clients have this long to go after they were told to. */
const GOODBYE_MS = 1_000;

/**
 * The open connections of one server. One timer looks after all of them: it ends those whose token has expired, and cuts
 * those that have not taken what was written to them for `slowMs`, as it is kept in memory meanwhile.
 * @param options.max connections at once
 */
export function createConnections(options: {
  readonly max: number;
  readonly slowMs: number;
  readonly onSlow: () => void;
}): Connections {
  const seats = new Map<Seat, { connection: Connection; slowSince: number | null } | null>();
  let isClosed = false;
  let onEmpty = (): void => undefined;
  let pingAt = Date.now() + PING_MS;
  const timer = setInterval(look, LOOK_MS).unref();

  function look(): void {
    const now = Date.now();
    const isPingDue = now >= pingAt;
    if (isPingDue) pingAt = now + PING_MS;
    for (const seated of seats.values()) {
      if (!seated) continue;
      const { connection } = seated;
      if (connection.expiresAt !== null && connection.expiresAt <= now) connection.end('expired');
      else if (isPingDue) connection.ping();
      seated.slowSince = connection.pendingBytes() > 0 ? (seated.slowSince ?? now) : null;
      if (seated.slowSince !== null && now - seated.slowSince >= options.slowMs) {
        options.onSlow();
        connection.cut();
      }
    }
  }

  return {
    reserve() {
      if (isClosed || seats.size >= options.max) return null;
      const seat: Seat = {
        take(connection) {
          if (!seats.has(seat)) return;
          seats.set(seat, { connection, slowSince: null });
          if (isClosed) connection.end('stopping');
        },
        leave() {
          if (seats.delete(seat) && seats.size === 0) onEmpty();
        },
      };
      seats.set(seat, null);
      return seat;
    },
    async close() {
      isClosed = true;
      for (const seated of seats.values()) seated?.connection.end('stopping');
      if (seats.size > 0) {
        const cutAll = setTimeout(() => {
          for (const seated of seats.values()) seated?.connection.cut();
          onEmpty();
        }, GOODBYE_MS);
        await new Promise<void>((resolve) => (onEmpty = resolve));
        clearTimeout(cutAll);
      }
      clearInterval(timer);
    },
  };
}
