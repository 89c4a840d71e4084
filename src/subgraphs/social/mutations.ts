import { parseId } from '../../domain/ids.js';
import type { Viewer } from '../../domain/viewer.js';
import type { Social } from '../../social/create-social.js';
import type { RequestContext } from '../context.js';
import { requireViewer } from '../require-viewer.js';
import type { MutationResolvers } from './generated.js';
import type { LoadersByRequest } from './loaders.js';

export function createMutations(social: Social, loaders: LoadersByRequest): MutationResolvers {
  return {
    publishContent: async (_, { input }, ctx) => {
      const { repostOfContentId } = input;
      const repostOf =
        repostOfContentId === null || repostOfContentId === undefined
          ? null
          : parseId(repostOfContentId, 'repostOfContentId');
      const { contentId } = await command(ctx, (viewer) => social.publishContent(viewer, { ...input, repostOf }));
      return { content: { contentId } };
    },
    deleteContent: async (_, { input }, ctx) => {
      const contentId = parseId(input.contentId, 'contentId');
      await command(ctx, (viewer) => social.deleteContent(viewer, contentId));
      return { contentId: contentId.toString() };
    },
    setVisibility: async (_, { input }, ctx) => {
      const contentId = parseId(input.contentId, 'contentId');
      await command(ctx, (viewer) => social.setVisibility(viewer, contentId, input.visibility));
      return { content: { contentId } };
    },
    setFollow: async (_, { input }, ctx) => {
      const userId = parseId(input.userId, 'userId');
      await command(ctx, (viewer) => social.setFollow(viewer, userId, input.following));
      return { user: { userId } };
    },
    setBlock: async (_, { input }, ctx) => {
      const userId = parseId(input.userId, 'userId');
      await command(ctx, (viewer) => social.setBlock(viewer, userId, input.blocked));
      return { user: { userId } };
    },
    setReaction: async (_, { input }, ctx) => {
      const contentId = parseId(input.contentId, 'contentId');
      const state = await command(ctx, (viewer) => social.setReaction(viewer, { ...input, contentId }));
      return { content: { contentId }, ...state };
    },
    addComment: async (_, { input }, ctx) => {
      const contentId = parseId(input.contentId, 'contentId');
      return { comment: await command(ctx, (viewer) => social.addComment(viewer, { ...input, contentId })) };
    },
    deleteComment: async (_, { input }, ctx) => {
      const commentId = parseId(input.commentId, 'commentId');
      await command(ctx, (viewer) => social.deleteComment(viewer, commentId));
      return { commentId: commentId.toString() };
    },
    updateProfile: async (_, { input }, ctx) => {
      const { userId } = requireViewer(ctx);
      await command(ctx, (viewer) => social.updateProfile(viewer, input));
      ctx.hydration.users.forget(userId);
      return { user: { userId } };
    },
    deleteAccount: async (_, { input }, ctx) => {
      const userId = parseId(input.userId, 'userId');
      await command(ctx, (viewer) => social.deleteAccount(viewer, userId));
      ctx.hydration.users.forget(userId);
      return { userId: userId.toString() };
    },
  };

  async function command<T>(ctx: RequestContext, run: (viewer: Viewer) => Promise<T>): Promise<T> {
    const result = await run(requireViewer(ctx));
    loaders.forget(ctx);
    return result;
  }
}
