import type { Entry } from './entry.js';

/** What decides whether a viewer may see a content. `repostOf` is null for an original. */
export interface ContentFacts {
  readonly contentId: bigint;
  readonly authorId: bigint;
  /** Epoch milliseconds. */
  readonly publishTime: number;
  readonly visibility: 'PUBLIC' | 'FOLLOWERS' | 'PRIVATE';
  readonly isDeleted: boolean;
  readonly repostOf: bigint | null;
}

interface FactsById {
  get(contentId: bigint): ContentFacts | undefined;
}

export interface Beholder {
  readonly userId: bigint;
  readonly followees: { has(userId: bigint): boolean };
  /** Blocked by the viewer or blocking the viewer. */
  readonly blockedIds: { has(userId: bigint): boolean };
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A repost of a repost of … is followed this far; a longer chain is not shown. */
export const REPOST_DEPTH_MAX = 8;

/** Why an entry is not shown; the label of the metric of filtered entries. */
export type HiddenReason = 'deleted' | 'unfollowed' | 'private' | 'future' | 'blocked' | 'repost';

/**
 * Why this content is not in the viewer's feed, or null when it is. A feed holds what followed authors published (and
 * one's own with `includeOwn`), not private, not dated in the future, and a repost only while its original may be seen.
 */
export function whyNotInFeed(
  entry: Entry,
  facts: FactsById,
  viewer: Beholder & { readonly includeOwn: boolean },
): HiddenReason | null {
  const content = facts.get(entry.contentId);
  // An id that was given to another content since names what is gone.
  if (!content || content.isDeleted || content.publishTime !== entry.publishTime) return 'deleted';
  const isOwn = content.authorId === viewer.userId;
  if (isOwn ? !viewer.includeOwn : !viewer.followees.has(content.authorId)) return 'unfollowed';
  return whyHidden(content, facts, viewer);
}

/**
 * Why the viewer may not see this content at all, or null when they may: PUBLIC to all, FOLLOWERS to who follows the
 * author now, PRIVATE to its author; never across a block; a repost follows its original too.
 */
function whyHidden(content: ContentFacts, facts: FactsById, viewer: Beholder, depth = 0): HiddenReason | null {
  if (content.isDeleted) return 'deleted';
  const isOwn = content.authorId === viewer.userId;
  if (viewer.blockedIds.has(content.authorId)) return 'blocked';
  if (content.visibility === 'PRIVATE' && !isOwn) return 'private';
  if (content.visibility === 'FOLLOWERS' && !isOwn && !viewer.followees.has(content.authorId)) return 'private';
  if (content.publishTime > viewer.now) return 'future';
  if (content.repostOf === null) return null;
  const original = depth < REPOST_DEPTH_MAX ? facts.get(content.repostOf) : undefined;
  return !original || whyHidden(original, facts, viewer, depth + 1) !== null ? 'repost' : null;
}
