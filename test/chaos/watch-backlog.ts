import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from '../../src/stores/database.js';

const WATCH_MS = 200;

/** Looks again and again for the oldest content that is not delivered everywhere yet. */
export function watchBacklog(pool: Pool): { stop(): Promise<{ maxAgeMs: number }> } {
  const stop = new AbortController();
  let maxAgeMs = 0;
  const ended = (async () => {
    while (!stop.signal.aborted) {
      // Postgres may be away: it is looked at again.
      maxAgeMs = Math.max(maxAgeMs, await readAge(pool).catch(() => 0));
      await pause(WATCH_MS);
    }
  })();
  return {
    async stop() {
      stop.abort();
      await ended;
      return { maxAgeMs: Math.round(maxAgeMs) };
    },
  };
}

async function readAge(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ age: string | null }>(
    `SELECT extract(epoch FROM clock_timestamp() - min(c.created_at)) * 1000 AS age
     FROM fanouts f JOIN contents c ON c.id = f.content_id WHERE f.state <> 'DONE'`,
  );
  return Number(rows[0]?.age ?? 0);
}
