import { startProxy, type Proxy } from '../harness/proxy.js';
import type { ChaosServers } from './servers.js';

/** One process' ways to the stores. */
export interface Route {
  readonly postgres: Proxy;
  readonly redis: Proxy;
  /** The settings that name them. */
  readonly env: { readonly DATABASE_URL: string; readonly REDIS_URL: string };
}

export interface Routes {
  open(): Promise<Route>;
  /** Leads new connections to where the servers are by now. */
  follow(): void;
  /** All bytes pass again. */
  heal(): void;
  close(): Promise<void>;
}

export function createRoutes({ postgres, redis }: ChaosServers): Routes {
  const routes: Route[] = [];
  let led = { postgres: postgres.url(), redis: redis.url() };
  return {
    async open() {
      const route = { postgres: await startProxy(postgres.url()), redis: await startProxy(redis.url()) };
      const opened = { ...route, env: { DATABASE_URL: route.postgres.url, REDIS_URL: route.redis.url } };
      routes.push(opened);
      return opened;
    },
    follow() {
      const now = { postgres: postgres.url(), redis: redis.url() };
      for (const store of ['postgres', 'redis'] as const) {
        for (const route of routes) if (now[store] !== led[store]) route[store].lead(now[store]);
      }
      led = now;
    },
    heal() {
      for (const { postgres, redis } of routes) {
        for (const proxy of [postgres, redis]) {
          proxy.resume();
          proxy.mend();
        }
      }
    },
    async close() {
      await Promise.all(routes.flatMap(({ postgres, redis }) => [postgres.close(), redis.close()]));
    },
  };
}
