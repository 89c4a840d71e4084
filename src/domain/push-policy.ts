/** FEED_MODE: `push` and `pull` are the extreme policies of the same code. */
export type FeedMode = 'hybrid' | 'push' | 'pull';

/** How long after their last visit readers count as active and as awake, in milliseconds. */
export interface ActivityWindows {
  readonly activeMs: number;
  readonly dormantMs: number;
}

/** Whom a content is delivered to; recorded once per content. NOBODY is recorded while FEED_MODE=pull. */
export type DeliveryMode = 'ALL_FOLLOWERS' | 'ACTIVE_FOLLOWERS' | 'NOBODY';

/** @param threshold FANOUT_PUSH_THRESHOLD: an author with more followers is a big account. */
export function chooseDeliveryMode(feedMode: FeedMode, followerCount: number, threshold: number): DeliveryMode {
  if (feedMode === 'pull') return 'NOBODY';
  return feedMode === 'hybrid' && followerCount > threshold ? 'ACTIVE_FOLLOWERS' : 'ALL_FOLLOWERS';
}

/**
 * A dispatcher counts a reader as active (or awake) this much longer than the reader does. So a reader who counts as
 * away at return was never relied on, and one who does not was never skipped, as long as clocks differ and activity
 * marks lag by less than this.
 */
export const ACTIVITY_MARGIN_MS = 2 * 3_600_000;

/** A mark younger than this is not written again; must stay well under ACTIVITY_MARGIN_MS. */
export const ACTIVITY_RESOLUTION_MS = 3_600_000;

/**
 * The least priority number goes first (BullMQ). Posts with fewer followers overtake those with more: the number is
 * the follower count's power of two, 1 to 65.
 */
export const deliveryPriority = (followerCount: number): number => 1 + Math.ceil(Math.log2(Math.max(1, followerCount)));
