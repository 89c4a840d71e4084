import type { App } from '../app.js';
import type { Clock } from '../domain/clock.js';
import { StartError } from '../http.js';
import { readClock } from '../stores/status.js';

/** A difference that is worth a warning. */
const NOTABLE_MS = 500;
const TRIES = 3;

/**
 * Refuses to start when the clocks of this process and of Postgres differ by more than CLOCK_SKEW_MAX_MS: posts would
 * come from the future, and who was away would be counted wrongly.
 * @throws StartError telling the difference
 */
export async function checkClock(
  { config, database, log }: Pick<App, 'config' | 'database' | 'log'>,
  clock: Clock = Date.now,
): Promise<void> {
  const skews: number[] = [];
  for (let i = 0; i < TRIES; i += 1) {
    const sentAt = clock();
    const databaseMs = await readClock(database.pool);
    const receivedAt = clock();
    // Read somewhere between: only what lies outside is a difference.
    skews.push(databaseMs < sentAt ? sentAt - databaseMs : Math.max(0, databaseMs - receivedAt));
  }
  const skewMs = Math.round(Math.min(...skews));
  if (skewMs > config.CLOCK_SKEW_MAX_MS) {
    throw new StartError(
      `The clocks of this process and of Postgres differ by ${String(skewMs)} ms, more than ` +
        `CLOCK_SKEW_MAX_MS=${String(config.CLOCK_SKEW_MAX_MS)}. Synchronize them (NTP), then start again.`,
    );
  }
  if (skewMs > NOTABLE_MS) log.warn({ skewMs }, 'the clocks of this process and of postgres differ');
}
