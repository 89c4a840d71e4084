import { GraphQLScalarType } from 'graphql';
import { notFound } from '../domain/errors.js';
import { defaultHandle } from '../domain/handles.js';
import { toGlobalId } from '../domain/ids.js';
import type { ContentDetails, Counters, Media } from '../feed/hydrate.js';
import type { RequestContext } from './context.js';

/** What a resolver hands on for a content: the fields load what they need, in one lookup per source and request. */
export interface ContentRef {
  readonly contentId: bigint;
}

export interface UserRef {
  readonly userId: bigint;
}

/**
 * The fields that both subgraphs resolve (`@shareable` and the keys), in one place so that both answer the same. Whether
 * the viewer may see a content is decided before there is a ref to it.
 */
export const shareable = {
  DateTime: new GraphQLScalarType<Date, string>({
    name: 'DateTime',
    description: 'An instant, RFC 3339 in UTC with milliseconds, e.g. 2023-07-12T01:32:02.000Z.',
    serialize: (value) => (value as Date).toISOString(),
  }),
  Content: {
    id: ({ contentId }: ContentRef) => toGlobalId('Content', contentId),
    contentId: ({ contentId }: ContentRef) => contentId.toString(),
    text: async (ref: ContentRef, _: unknown, ctx: RequestContext) => (await requireDetails(ref, ctx)).text,
    media: async (ref: ContentRef, _: unknown, ctx: RequestContext): Promise<Media[]> => [
      ...(await requireDetails(ref, ctx)).media,
    ],
    publishTime: async (ref: ContentRef, _: unknown, ctx: RequestContext) =>
      new Date((await requireDetails(ref, ctx)).publishTime),
    visibility: async (ref: ContentRef, _: unknown, ctx: RequestContext) => (await requireDetails(ref, ctx)).visibility,
    author: async (ref: ContentRef, _: unknown, ctx: RequestContext): Promise<UserRef | null> => {
      const { authorId } = await requireDetails(ref, ctx);
      return authorId === null ? null : { userId: authorId };
    },
    counters: async ({ contentId }: ContentRef, _: unknown, ctx: RequestContext): Promise<Counters> =>
      ctx.hydration.counters.load(contentId),
    viewerHasLiked: async ({ contentId }: ContentRef, _: unknown, ctx: RequestContext) =>
      ctx.viewer && ctx.hydration.viewerLikes.load(contentId),
  },
  User: {
    id: ({ userId }: UserRef) => toGlobalId('User', userId),
    userId: ({ userId }: UserRef) => userId.toString(),
    handle: async ({ userId }: UserRef, _: unknown, ctx: RequestContext) =>
      (await ctx.hydration.users.load(userId))?.handle ?? defaultHandle(userId),
    displayName: async ({ userId }: UserRef, _: unknown, ctx: RequestContext) =>
      (await ctx.hydration.users.load(userId))?.displayName ?? defaultHandle(userId),
    avatarUrl: async ({ userId }: UserRef, _: unknown, ctx: RequestContext) =>
      (await ctx.hydration.users.load(userId))?.avatarUrl ?? null,
  },
};

/** A content that was deleted after somebody got its ref: the required fields are errors, and the ref's edge is null. */
async function requireDetails({ contentId }: ContentRef, { hydration }: RequestContext): Promise<ContentDetails> {
  const details = await hydration.contents.load(contentId);
  if (!details) throw notFound('This content has been deleted.');
  return details;
}
