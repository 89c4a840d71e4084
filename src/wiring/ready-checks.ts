import type { App } from '../app.js';
import type { ReadyChecks } from '../http.js';

/** A process that serves or works is ready when both stores answer. */
export const readyChecksOf = ({ database, redis }: Pick<App, 'database' | 'redis'>): ReadyChecks => ({
  postgres: () => database.pool.query('SELECT 1'),
  redis: () => redis.ping(),
});
