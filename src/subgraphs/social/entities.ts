import { toGlobalId } from '../../domain/ids.js';
import type { Social } from '../../social/create-social.js';
import type { Page } from '../../social/read-page.js';
import { readReference } from '../read-reference.js';
import { shareable } from '../shareable.js';
import type { NodeFinder } from './find-nodes.js';
import type { CommentResolvers, ContentResolvers, UserResolvers } from './generated.js';
import type { LoadersByRequest } from './loaders.js';

export const createEntities = (social: Social, loaders: LoadersByRequest, finder: NodeFinder) => ({
  User: createUserFields(social, loaders, finder),
  Content: createContentFields(social, finder),
  Comment: createCommentFields(finder),
});

const createUserFields = (social: Social, loaders: LoadersByRequest, finder: NodeFinder): UserResolvers => ({
  ...shareable.User,
  __resolveReference: async (key, ctx) => {
    const userId = readReference('User', key, 'userId');
    return userId === null ? null : finder.User(userId, ctx);
  },
  followerCount: async ({ userId }, _, ctx) => (await loaders.of(ctx).userCounts.load(userId))?.followers ?? 0,
  followingCount: async ({ userId }, _, ctx) => (await loaders.of(ctx).userCounts.load(userId))?.following ?? 0,
  viewerIsFollowing: async ({ userId }, _, ctx) => ctx.viewer && loaders.of(ctx).follows.load(userId),
  contents: async ({ userId }, args, { viewer }) =>
    toConnection(await social.listOutboxPage(viewer, userId, args), ({ contentId }) => ({ contentId })),
  followers: async ({ userId: id }, args, { viewer }) =>
    toConnection(await social.listFollowerPage(viewer, id, args), (userId) => ({ userId })),
  following: async ({ userId: id }, args, { viewer }) =>
    toConnection(await social.listFollowingPage(viewer, id, args), (userId) => ({ userId })),
});

const createContentFields = (social: Social, finder: NodeFinder): ContentResolvers => ({
  ...shareable.Content,
  __resolveReference: async (key, ctx) => {
    const contentId = readReference('Content', key, 'contentId');
    return contentId === null ? null : finder.Content(contentId, ctx);
  },
  repostOf: async ({ contentId }, _, ctx) => {
    const repostOf = (await ctx.hydration.contents.load(contentId))?.repostOf ?? null;
    return repostOf === null ? null : finder.Content(repostOf, ctx);
  },
  comments: async ({ contentId }, args, { viewer }) =>
    toConnection(await social.listCommentPage(viewer, contentId, args), (comment) => comment),
  likers: async ({ contentId }, args, { viewer }) =>
    toConnection(await social.listLikerPage(viewer, contentId, args), ({ userId }) => ({ userId })),
});

const createCommentFields = (finder: NodeFinder): CommentResolvers => ({
  __resolveReference: async (key, ctx) => {
    const commentId = readReference('Comment', key, 'commentId');
    return commentId === null ? null : finder.Comment(commentId, ctx);
  },
  id: ({ commentId }) => toGlobalId('Comment', commentId),
  commentId: ({ commentId }) => commentId.toString(),
  createdAt: ({ createdAt }) => new Date(createdAt),
  author: ({ userId }) => ({ userId }),
});

const toConnection = <Item, Node>({ edges, pageInfo }: Page<Item>, toNode: (item: Item) => Node) => ({
  edges: edges.map(({ cursor, item }) => ({ cursor, node: toNode(item) })),
  pageInfo,
});
