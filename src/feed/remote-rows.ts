import { z } from 'zod';
import { parseId } from '../domain/ids.js';
import type { ContentDetails, Counters, UserCard } from './sources.js';

// What a foreign service answers for one entity, checked before anything relies on it. Each decoder throws when the
// answer does not fit, and when it is about another entity than the one that was asked for.

const id = z.string().transform((text) => parseId(text, 'id'));
const text = z.string().max(100_000);
const count = z.number().int().min(0);
const size = z.number().int().nullish().default(null);

const mediaSchema = z.object({
  url: z.string().max(4_096),
  kind: z.enum(['IMAGE', 'VIDEO', 'LINK']),
  width: size,
  height: size,
  altText: text.nullish().default(null),
});

const contentSchema = z.object({
  contentId: id,
  text,
  media: z.array(mediaSchema).max(100).nullable(),
  publishTime: z.iso.datetime({ offset: true }).transform((time) => Date.parse(time)),
  visibility: z.enum(['PUBLIC', 'FOLLOWERS', 'PRIVATE']),
  author: z.object({ userId: id }).nullable(),
});

/** The fields that a content service must have on `Content`. */
export const CONTENT_FIELDS = `... on Content {
  contentId text media { url kind width height altText } publishTime visibility author { userId } }`;

export function decodeContent(row: unknown, contentId: bigint): ContentDetails {
  const { author, media, ...content } = contentSchema.parse(row);
  expectId(content.contentId, contentId);
  // The feed does not ask what a repost reposts, and only the service knows when its details change: nothing is kept.
  return { ...content, media: media ?? [], authorId: author && author.userId, repostOf: null };
}

const userSchema = z.object({ userId: id, handle: text, displayName: text, avatarUrl: text.nullable() });

/** The fields that a user service must have on `User`. */
export const USER_FIELDS = '... on User { userId handle displayName avatarUrl }';

export function decodeUser(row: unknown, userId: bigint): UserCard {
  const user = userSchema.parse(row);
  expectId(user.userId, userId);
  return user;
}

/** `counters: null` says that the service does not know now; zeros would be a lie. */
const countersSchema = z.object({
  contentId: id,
  counters: z.object({ likes: count, comments: count, reposts: count, favorites: count }),
});

/** The fields that a counter service must have on `Content`. */
export const COUNTER_FIELDS = '... on Content { contentId counters { likes comments reposts favorites } }';

export function decodeCounters(row: unknown, contentId: bigint): Counters {
  const found = countersSchema.parse(row);
  expectId(found.contentId, contentId);
  return found.counters;
}

const likedSchema = z.object({ contentId: id, viewerHasLiked: z.boolean() });

/** Asked of the counter service too. */
export const LIKED_FIELDS = '... on Content { contentId viewerHasLiked }';

export function decodeLiked(row: unknown, contentId: bigint): boolean {
  const found = likedSchema.parse(row);
  expectId(found.contentId, contentId);
  return found.viewerHasLiked;
}

function expectId(found: bigint, asked: bigint): void {
  if (found !== asked) throw new Error(`asked for ${asked}, got ${found}`);
}
