import { forbidden, notFound } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import { lockComment, markCommentDeleted } from '../stores/comments.js';
import { addToCounter } from '../stores/counters.js';
import { inTransaction } from '../stores/database.js';
import { ensureUser } from '../stores/users.js';
import type { SocialDeps } from './deps.js';

/**
 * Safe to repeat: what is deleted already counts down once.
 * @throws TidelineError NOT_FOUND; FORBIDDEN unless the viewer wrote the comment or the content under which it stands.
 */
export async function deleteComment(
  { pool, onCountersChanged }: Pick<SocialDeps, 'pool' | 'onCountersChanged'>,
  viewer: Viewer,
  commentId: bigint,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await ensureUser(client, viewer.userId);
    const comment = await lockComment(client, commentId);
    if (!comment) throw notFound('There is no such comment.');
    const isAllowed = comment.userId === viewer.userId || comment.contentAuthorId === viewer.userId;
    if (!isAllowed) throw forbidden('Only its author and the author of the content may delete a comment.');
    if (comment.isDeleted) return;
    await markCommentDeleted(client, commentId);
    await addToCounter(client, comment.contentId, 'comments', -1);
  });
  onCountersChanged?.();
}
