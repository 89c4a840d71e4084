import pg from 'pg';
import { RELAY_LOCK_KEY } from './relay-events.js';

export { EVENTS_CHANNEL } from './relay-events.js';

export interface RelaySession {
  /** True while this session is the one relay; tries to become it otherwise. */
  holdsLock(): Promise<boolean>;
  /** From now on a notification is a new one. Call it before looking for work. */
  expectNotification(): void;
  /** Resolves once something was notified, or the connection was lost, since then. */
  nextNotification(): Promise<void>;
  /** @throws when the connection was lost, and with it the lock. */
  assertAlive(): void;
  close(): Promise<void>;
}

/** A connection of its own: a lock and a LISTEN belong to a session, and the pool's sessions change hands. */
export async function openRelaySession(databaseUrl: string, channel: string): Promise<RelaySession> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'tideline-relay',
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
  });
  let lost: Error | null = null;
  let isLocked = false;
  let signal = createSignal();
  const rouse = (): void => {
    signal.raise();
  };
  client.on('error', (error) => {
    lost = error;
    rouse();
  });
  client.on('end', () => {
    lost ??= new Error('the relay lost its connection');
    rouse();
  });
  client.on('notification', rouse);
  try {
    await client.connect();
    await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return {
    async holdsLock() {
      if (isLocked) return true;
      const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
        RELAY_LOCK_KEY,
      ]);
      isLocked = rows[0]?.locked ?? false;
      return isLocked;
    },
    nextNotification: () => signal.raised,
    expectNotification() {
      signal = createSignal();
    },
    assertAlive() {
      if (lost) throw lost;
    },
    async close() {
      await client.end();
    },
  };
}

function createSignal() {
  let raise = (): void => undefined;
  const raised = new Promise<void>((resolve) => (raise = resolve));
  return { raise: () => raise(), raised };
}
