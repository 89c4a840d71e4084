import type { App } from '../app.js';
import type { HydrationDeps } from '../feed/hydrate.js';
import { createRemoteSources } from '../feed/remote-sources.js';

/**
 * The timeline's sources: those that a setting names are asked at their URL, the others are this project's own. What a
 * foreign service answers passes the cache by: it may depend on who asks, and nobody tells this process of its changes.
 */
export function plugRemoteSources(app: App, deps: HydrationDeps): HydrationDeps {
  const { config, log } = app;
  const urls = {
    contents: config.CONTENT_SOURCE_URL,
    users: config.USER_SOURCE_URL,
    counters: config.COUNTER_SOURCE_URL,
  };
  if (!Object.values(urls).some(Boolean)) return deps;
  const remote = createRemoteSources({
    urls,
    batchMax: config.SOURCE_BATCH_MAX,
    connections: config.SOURCE_CONNECTIONS,
    onChange(url, state) {
      // Without what a URL may hold of secrets.
      const { host, pathname } = new URL(url);
      if (state === 'open') log.error({ source: `${host}${pathname}` }, 'a source does not answer: it is left alone');
      else log.info({ source: `${host}${pathname}` }, 'a source answers again');
    },
  });
  app.onClose(() => remote.close());
  const { contents, users } = { ...deps.cache };
  return {
    ...deps,
    sources: { ...deps.sources, ...remote.sources },
    cache: { ...(contents && !urls.contents && { contents }), ...(users && !urls.users && { users }) },
  };
}
