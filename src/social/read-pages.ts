import type { Entry } from '../domain/entry.js';
import type { Viewer } from '../domain/viewer.js';
import type { StoredComment } from '../stores/comments.js';
import { readVisibleOutbox } from '../stores/contents.js';
import { readFollowers, readFollowing, type UserList } from '../stores/follows.js';
import { readLikers, type Liker } from '../stores/reactions.js';
import type { SocialDeps } from './deps.js';
import { readNewestComments } from './read-comments.js';
import { fromNewest, readPage, type Page, type PageArgs } from './read-page.js';

type Deps = Pick<SocialDeps, 'pool' | 'clock' | 'cursorKeys'>;
type ViewerOrNobody = Viewer | null;

/** The author's outbox as the viewer may see it, newest first; empty while either blocks the other. */
export const listOutboxPage = async (
  { pool, clock, cursorKeys }: Deps,
  viewer: ViewerOrNobody,
  authorId: bigint,
  args: PageArgs,
): Promise<Page<Entry>> =>
  readPage(cursorKeys, viewer, args, {
    scope: `outbox:${authorId}`,
    read: (after, limit) =>
      readVisibleOutbox(pool, authorId, {
        viewerId: viewer?.userId ?? null,
        nowMs: clock(),
        after: fromNewest(after),
        limit,
      }),
    placeOf: (entry) => entry,
  });

/** In ascending user id, as is `following`; without people across a block from the viewer. */
export const listFollowerPage = async (
  { pool, cursorKeys }: Deps,
  viewer: ViewerOrNobody,
  userId: bigint,
  args: PageArgs,
): Promise<Page<bigint>> =>
  readPage(cursorKeys, viewer, args, {
    scope: `followers:${userId}`,
    read: (after, limit) => readFollowers(pool, listOf(viewer, userId, after, limit)),
    placeOf: placeOfUser,
  });

export const listFollowingPage = async (
  { pool, cursorKeys }: Deps,
  viewer: ViewerOrNobody,
  userId: bigint,
  args: PageArgs,
): Promise<Page<bigint>> =>
  readPage(cursorKeys, viewer, args, {
    scope: `following:${userId}`,
    read: (after, limit) => readFollowing(pool, listOf(viewer, userId, after, limit)),
    placeOf: placeOfUser,
  });

/** Most recent likers first. */
export const listLikerPage = async (
  { pool, cursorKeys }: Deps,
  viewer: ViewerOrNobody,
  contentId: bigint,
  args: PageArgs,
): Promise<Page<Liker>> =>
  readPage(cursorKeys, viewer, args, {
    scope: `likers:${contentId}`,
    read: (after, limit) =>
      readLikers(pool, contentId, {
        viewerId: viewer?.userId ?? null,
        after: after && { userId: after.contentId, likedAt: after.publishTime },
        limit,
      }),
    placeOf: ({ userId, likedAt }) => ({ publishTime: likedAt, contentId: userId }),
  });

/** Newest first. */
export const listCommentPage = async (
  deps: Deps & Pick<SocialDeps, 'commentIndex' | 'schedule'>,
  viewer: ViewerOrNobody,
  contentId: bigint,
  args: PageArgs,
): Promise<Page<StoredComment>> =>
  readPage(deps.cursorKeys, viewer, args, {
    scope: `comments:${contentId}`,
    read: (after, limit) =>
      readNewestComments(deps, contentId, {
        viewerId: viewer?.userId ?? null,
        after: after && { createdAt: after.publishTime, commentId: after.contentId },
        limit,
      }),
    placeOf: ({ createdAt, commentId }) => ({ publishTime: createdAt, contentId: commentId }),
  });

const placeOfUser = (userId: bigint): Entry => ({ publishTime: 0, contentId: userId });

const listOf = (viewer: ViewerOrNobody, userId: bigint, after: Entry | null, limit: number): UserList => ({
  userId,
  viewerId: viewer?.userId ?? null,
  after: after && after.contentId,
  limit,
});
