import type { App } from '../app.js';
import type { ReadyChecks } from '../http.js';

type Stores = Pick<App, 'database' | 'redis'>;

/** A subgraph answers without Redis, from Postgres: it stays in its load balancer then. */
export const subgraphReadyChecks = ({ database }: Pick<Stores, 'database'>): ReadyChecks => ({
  postgres: () => database.pool.query('SELECT 1'),
});

/** A worker can do nothing without either. */
export const workerReadyChecks = ({ database, redis }: Stores): ReadyChecks => ({
  ...subgraphReadyChecks({ database }),
  redis: () => redis.ping(),
});
