import type { Redis } from 'ioredis';
import type { CommentPlace } from './comments.js';

/** The newest comments of a content as of one version of its comments, in their order. */
export interface CommentIndexPage {
  /** Compared with the authority's before the page is shown (read-comments.ts): the index is never believed alone. */
  readonly version: bigint;
  readonly places: readonly CommentPlace[];
  /** False: older comments than these are not indexed. */
  readonly isWhole: boolean;
}

/**
 * A sorted set per content: all scores 0, each member 15 digits of createdAt and 20 digits of the comment's id, so that
 * byte order is the order of the pages, ties included, and the cursor is a member. Beside it the head, `version isWhole`,
 * written with it in one step. It is made when somebody reads, out of date with the next comment, and expires by itself.
 */
export interface CommentIndex {
  /** From `after` (exclusive) on, newest first; null when there is no index. */
  read(contentId: bigint, after: CommentPlace | null, limit: number): Promise<CommentIndexPage | null>;
  /** Safe to repeat and in any order: what is out of date is seen by its version, and replaced by the next reader. */
  save(contentId: bigint, index: CommentIndexPage): Promise<void>;
}

/** Comments that an index holds: several pages, as few readers go on. */
export const COMMENT_INDEX_MAX = 300;

const TTL_SECONDS = 3_600;

export function createCommentIndex({ redis, keyPrefix }: { redis: Redis; keyPrefix: string }): CommentIndex {
  const keyOf = (contentId: bigint): string => `${keyPrefix}:{m${contentId.toString()}}:comments`;
  const headKeyOf = (contentId: bigint): string => `${keyOf(contentId)}:head`;

  return {
    async read(contentId, after, limit) {
      const newest = after ? `(${memberOf(after)}` : '+';
      const replies = await redis
        .multi()
        .get(headKeyOf(contentId))
        .zrevrangebylex(keyOf(contentId), newest, '-', 'LIMIT', 0, limit)
        .exec();
      const [head, members] = (replies ?? []).map(([error, reply]) => {
        if (error) throw error;
        return reply;
      }) as [string | null, string[]];
      if (!head) return null;
      const [version = '0', isWhole] = head.split(' ');
      return { version: BigInt(version), places: members.map(placeOf), isWhole: isWhole === '1' };
    },
    async save(contentId, { version, places, isWhole }) {
      const key = keyOf(contentId);
      const change = redis.multi().unlink(key);
      if (places.length > 0) change.zadd(key, ...places.flatMap((place) => [0, memberOf(place)]));
      change.expire(key, TTL_SECONDS);
      await change.set(headKeyOf(contentId), `${version.toString()} ${isWhole ? '1' : '0'}`, 'EX', TTL_SECONDS).exec();
    },
  };
}

const TIME_DIGITS = 15;
const ID_DIGITS = 20;

const memberOf = ({ createdAt, commentId }: CommentPlace): string =>
  createdAt.toString().padStart(TIME_DIGITS, '0') + commentId.toString().padStart(ID_DIGITS, '0');

const placeOf = (member: string): CommentPlace => ({
  createdAt: Number(member.slice(0, TIME_DIGITS)),
  commentId: BigInt(member.slice(TIME_DIGITS)),
});
