import { ENTRY_TOP } from '../domain/entry.js';
import { COMMENT_INDEX_MAX } from '../stores/comment-index.js';
import {
  readCommentPage,
  readCommentsAndVersion,
  readNewestPlaces,
  type CommentPlace,
  type StoredComment,
} from '../stores/comments.js';
import type { SocialDeps } from './deps.js';

type Deps = Pick<SocialDeps, 'pool' | 'commentIndex' | 'schedule'>;

interface Request {
  readonly viewerId: bigint | null;
  /** Exclusive; null: from the newest on. */
  readonly after: CommentPlace | null;
  readonly limit: number;
}

/**
 * Newest first. The index says which comments stand on the page; the authority loads them and says, in the same statement,
 * whether the index is of now. Where it is not, holds too little, or hides somebody from the viewer, the page is read from
 * the authority alone, and an index that is missing or out of date is written anew behind the reader's back.
 */
export async function readNewestComments(deps: Deps, contentId: bigint, request: Request): Promise<StoredComment[]> {
  const indexed = await readIndexed(deps, contentId, request);
  if (Array.isArray(indexed)) return indexed;
  if (indexed === 'out of date') {
    deps.schedule?.(`comments:${contentId.toString()}`, () => refreshIndex(deps, contentId));
  }
  const { publishTime: createdAt, contentId: commentId } = ENTRY_TOP;
  return readCommentPage(deps.pool, contentId, { ...request, after: request.after ?? { createdAt, commentId } });
}

async function readIndexed(
  { pool, commentIndex }: Deps,
  contentId: bigint,
  { viewerId, after, limit }: Request,
): Promise<StoredComment[] | 'out of date' | 'no help'> {
  // Redis is away: the authority answers.
  const index = await commentIndex?.read(contentId, after, limit).catch(() => undefined);
  if (index === undefined) return 'no help';
  if (index === null) return 'out of date';
  if (index.places.length < limit && !index.isWhole) return 'no help';
  const commentIds = index.places.map(({ commentId }) => commentId);
  const { version, comments } = await readCommentsAndVersion(pool, contentId, commentIds, viewerId);
  if (version !== index.version) return 'out of date';
  const shown = commentIds.flatMap((id) => comments.get(id) ?? []);
  return shown.length === commentIds.length ? shown : 'no help';
}

/** Safe to repeat: it writes what stands now, with its version. */
async function refreshIndex({ pool, commentIndex }: Deps, contentId: bigint): Promise<void> {
  const { version, places } = await readNewestPlaces(pool, contentId, COMMENT_INDEX_MAX);
  await commentIndex?.save(contentId, { version, places, isWhole: places.length < COMMENT_INDEX_MAX });
}
