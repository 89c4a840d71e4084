import type { App } from '../app.js';
import { registerFeedPolicy } from '../stores/feed-state.js';
import { checkClock } from './check-clock.js';
import { checkRedis } from './check-redis.js';
import { feedPolicyOf } from './feed.js';

/**
 * Checks Redis and the clocks, and says to the authority which policy this deployment runs, before anything relies on an
 * inbox.
 */
export async function prepareStores(app: App): Promise<void> {
  await checkRedis(app);
  await checkClock(app);
  await registerFeedPolicy(app.database.pool, feedPolicyOf(app));
}
