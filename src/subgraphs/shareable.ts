import { GraphQLScalarType } from 'graphql';
import { notFound } from '../domain/errors.js';
import { defaultHandle } from '../domain/handles.js';
import { toGlobalId } from '../domain/ids.js';
import type { ContentDetails, Counters, Loads, Media, UserCard } from '../feed/hydrate.js';
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
    text: ofContent(({ text }) => text),
    media: ofContent(({ media }): Media[] => [...media]),
    publishTime: ofContent(({ publishTime }) => new Date(publishTime)),
    visibility: ofContent(({ visibility }) => visibility),
    author: ofContent(({ authorId }): UserRef | null => (authorId === null ? null : { userId: authorId })),
    counters: ({ contentId }: ContentRef, _: unknown, { hydration }: RequestContext) =>
      take(hydration.counters, contentId, (counters): Counters => counters),
    viewerHasLiked: ({ contentId }: ContentRef, _: unknown, { viewer, hydration }: RequestContext) =>
      viewer && take(hydration.viewerLikes, contentId, (liked): boolean => liked),
  },
  User: {
    id: ({ userId }: UserRef) => toGlobalId('User', userId),
    userId: ({ userId }: UserRef) => userId.toString(),
    handle: ofUser((card, userId) => card?.handle ?? defaultHandle(userId)),
    displayName: ofUser((card, userId) => card?.displayName ?? defaultHandle(userId)),
    avatarUrl: ofUser((card) => card?.avatarUrl ?? null),
  },
};

/**
 * A field of what a request has loaded: at once when it was prefetched, since a promise for each field of each item costs
 * more than the rest of the answer; else a promise.
 */
function take<V, T>(loads: Loads<V>, id: bigint, read: (value: V) => T): T | Promise<T> {
  const found = loads.peek(id);
  if (found === undefined) return loads.load(id).then(read);
  if (found instanceof Error) throw found;
  return read(found);
}

/** A content that was deleted after somebody got its ref: the required fields are errors, and the ref's edge is null. */
function ofContent<T>(read: (details: ContentDetails) => T) {
  return ({ contentId }: ContentRef, _: unknown, { hydration }: RequestContext): T | Promise<T> =>
    take(hydration.contents, contentId, (details) => {
      if (!details) throw notFound('This content has been deleted.');
      return read(details);
    });
}

function ofUser<T>(read: (card: UserCard | null, userId: bigint) => T) {
  return ({ userId }: UserRef, _: unknown, { hydration }: RequestContext): T | Promise<T> =>
    take(hydration.users, userId, (card) => read(card, userId));
}
