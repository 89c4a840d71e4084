import { fromGlobalId, type NodeType } from '../../domain/ids.js';
import type { StoredComment } from '../../social/read-social.js';
import type { RequestContext } from '../context.js';
import type { ContentRef, UserRef } from '../shareable.js';
import type { LoadersByRequest } from './loaders.js';

/** How a type is found by its id; null when it does not exist for this viewer. */
export interface NodeFinder {
  readonly Content: (id: bigint, ctx: RequestContext) => Promise<ContentRef | null>;
  readonly User: (id: bigint, ctx: RequestContext) => Promise<UserRef | null>;
  readonly Comment: (id: bigint, ctx: RequestContext) => Promise<StoredComment | null>;
}

export type AnyNode = ContentRef | UserRef | StoredComment;

export const createNodeFinder = (loaders: LoadersByRequest): NodeFinder => ({
  Content: async (contentId, ctx) => ((await loaders.of(ctx).visibleContents.load(contentId)) ? { contentId } : null),
  // Whoever is signed in exists, though their row is made by their first command.
  User: async (userId, ctx) =>
    userId === ctx.viewer?.userId || (await loaders.of(ctx).userCounts.load(userId)) ? { userId } : null,
  Comment: async (commentId, ctx) => loaders.of(ctx).comments.load(commentId),
});

/** A global id that names nothing is null, as is one that this service never made. */
export async function findNode(finder: NodeFinder, globalId: string, ctx: RequestContext): Promise<AnyNode | null> {
  const named = fromGlobalId(globalId);
  return named && finder[named.type](named.id, ctx);
}

export const nodeTypeOf = (node: AnyNode): NodeType =>
  'commentId' in node ? 'Comment' : 'contentId' in node ? 'Content' : 'User';
