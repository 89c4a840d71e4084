import { messageOf } from '../domain/errors.js';
import type { Queues } from '../jobs/queues.js';
import type { Logger } from '../log.js';
import type { Pool } from '../stores/database.js';
import { EVENTS_CHANNEL, openRelaySession } from '../stores/relay-session.js';
import { relayEvents, type Announce } from './relay-events.js';

export interface Relay {
  close(): Promise<void>;
}

/**
 * Moves events as long as it runs. Of all relays one holds the lock and works; the others wait for it.
 *
 * States: connecting -> waiting for the lock -> moving (until a batch comes back short) -> asleep until a notification
 * or the poll -> moving. Any error goes back to connecting after a pause; the lock goes with the connection.
 */
export function startRelay(deps: {
  databaseUrl: string;
  pool: Pool;
  queues: Pick<Queues, 'contentEvents'>;
  announce?: Announce;
  pollMs: number;
  log: Logger;
}): Relay {
  const stop = new AbortController();
  const ended = (async () => {
    while (!stop.signal.aborted) {
      await runSession(deps, stop.signal).catch((error: unknown) => {
        deps.log.warn({ error: messageOf(error) }, 'relay starts over');
      });
      await sleep(deps.pollMs, stop.signal);
    }
  })();
  return {
    async close() {
      stop.abort();
      await ended;
    },
  };
}

async function runSession(deps: Parameters<typeof startRelay>[0], signal: AbortSignal): Promise<void> {
  const session = await openRelaySession(deps.databaseUrl, EVENTS_CHANNEL);
  try {
    while (!signal.aborted) {
      session.assertAlive();
      session.expectNotification();
      // Asked for again and again: a lock that its holder lost with its connection is free at the next poll.
      const moved = (await session.holdsLock()) ? await relayEvents(deps) : 0;
      if (moved === 0) await sleep(deps.pollMs, signal, session.nextNotification());
    }
  } finally {
    await session.close();
  }
}

/** Ends early by `signal` or `wake`, and leaves no timer or listener behind: notifications come far faster than polls. */
async function sleep(ms: number, signal: AbortSignal, wake?: Promise<void>): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
    void wake?.then(done);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
