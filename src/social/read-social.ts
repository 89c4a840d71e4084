import type { Viewer } from '../domain/viewer.js';
import { readComments, type StoredComment } from '../stores/comments.js';
import { readVisibleContents, type VisibleContent } from '../stores/contents.js';
import { readFollowedAmong } from '../stores/follows.js';
import { findUserIdByHandle, readUserCounts, type UserCounts } from '../stores/users.js';
import type { SocialDeps } from './deps.js';

export type { StoredComment } from '../stores/comments.js';
export type { VisibleContent } from '../stores/contents.js';
export type { UserCounts } from '../stores/users.js';

type Db = Pick<SocialDeps, 'pool' | 'clock'>;

// Each takes any number of ids in one round trip, for the loaders of a request. What is not there is absent.

/** The contents that the viewer (null: nobody) may see now. */
export const findVisibleContents = async (
  { pool, clock }: Db,
  viewer: Viewer | null,
  contentIds: readonly bigint[],
): Promise<ReadonlyMap<bigint, VisibleContent>> =>
  readVisibleContents(pool, contentIds, viewer?.userId ?? null, clock());

export const findUserCounts = async (
  { pool }: Db,
  userIds: readonly bigint[],
): Promise<ReadonlyMap<bigint, UserCounts>> => readUserCounts(pool, userIds);

export const findUserByHandle = async (
  { prisma }: Pick<SocialDeps, 'prisma'>,
  handle: string,
): Promise<bigint | null> => findUserIdByHandle({ prisma }, handle);

/** Those of the users whom the viewer follows. */
export const findFollowed = async (
  { pool }: Db,
  viewer: Viewer,
  userIds: readonly bigint[],
): Promise<ReadonlySet<bigint>> => readFollowedAmong(pool, viewer.userId, userIds);

/** The comments that stand under contents that the viewer may see. */
export async function findComments(
  deps: Db,
  viewer: Viewer | null,
  commentIds: readonly bigint[],
): Promise<ReadonlyMap<bigint, StoredComment>> {
  const comments = await readComments(deps.pool, commentIds, viewer?.userId ?? null);
  const contentIds = new Set([...comments.values()].map((comment) => comment.contentId));
  const visible = await findVisibleContents(deps, viewer, [...contentIds]);
  return new Map([...comments].filter(([, comment]) => visible.has(comment.contentId)));
}
