import type { App } from '../app.js';
import { messageOf } from '../domain/errors.js';
import type { FeedDeps } from '../feed/feed.js';
import { createTimelineWatch, type TimelineWatch } from '../live/watch-timelines.js';
import { publishSignals, subscribeSignals, type LiveSignal } from '../stores/live-signals.js';

/** What open timelines of this process are told. It ends with the app. */
export function createLive(app: App, feed: FeedDeps): TimelineWatch {
  const { config, log, meters } = app;
  const live = createTimelineWatch({
    feed,
    subscribe: (listener) =>
      subscribeSignals(app.subscriber, config.REDIS_KEY_PREFIX, {
        ...listener,
        onError: (error) => {
          log.warn({ error: messageOf(error) }, 'open timelines hear nothing for now');
        },
      }),
    intervalMs: config.LIVE_INTERVAL_MS,
    perViewerMax: config.LIVE_PER_VIEWER,
    log,
    metrics: { subscriptions: meters.liveTimelines, updates: meters.liveUpdates },
  });
  app.onClose(() => live.close());
  return live;
}

/** Tells the open timelines of all processes. What is lost is counted at the next chance. */
export const createAnnouncer =
  ({ config, log, redis }: Pick<App, 'config' | 'log' | 'redis'>) =>
  (signals: readonly LiveSignal[]): void => {
    publishSignals(redis, config.REDIS_KEY_PREFIX, signals).catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, 'open timelines were not told');
    });
  };
