import { forbidden, notFound } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import { isCountedRepost, lockAuthor, lockContent, markContentDeleted } from '../stores/contents.js';
import { addToCounter } from '../stores/counters.js';
import { inTransaction, type Queryable } from '../stores/database.js';
import { appendEvent } from '../stores/events.js';
import { ensureUser } from '../stores/users.js';
import type { SocialDeps } from './deps.js';

/**
 * Deletes for good. Safe to repeat: what is deleted already stays as it is, without a second event.
 * @throws TidelineError NOT_FOUND; FORBIDDEN unless the viewer is the author.
 */
export async function deleteContent(
  {
    pool,
    onContentChanged,
    announce,
    onCountersChanged,
  }: Pick<SocialDeps, 'pool' | 'onContentChanged' | 'announce' | 'onCountersChanged'>,
  viewer: Viewer,
  contentId: bigint,
): Promise<void> {
  const authorId = viewer.userId;
  await inTransaction(pool, async (client) => {
    await ensureUser(client, authorId);
    await removeContent(client, authorId, contentId);
  });
  // Also when nothing was written: the process that did may have stopped before it could tell.
  onContentChanged(contentId);
  announce?.([{ kind: 'changed', authorId, contentId }]);
  onCountersChanged?.();
}

/** Deletes a content of this author, in a transaction. @throws as deleteContent */
export async function removeContent(client: Queryable, authorId: bigint, contentId: bigint): Promise<void> {
  await lockAuthor(client, authorId);
  const content = await lockContent(client, contentId);
  if (!content) throw notFound('There is no such content.');
  if (content.authorId !== authorId) throw forbidden('Only its author may delete a content.');
  if (content.isDeleted) return;
  await markContentDeleted(client, contentId);
  if (content.repostOf !== null && isCountedRepost(content)) {
    await addToCounter(client, content.repostOf, 'reposts', -1);
  }
  await appendEvent(client, { type: 'content.deleted', authorId, contentId });
}
