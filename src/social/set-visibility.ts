import { forbidden, notFound } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import { isCountedRepost, lockAuthor, lockContent, updateVisibility, type Visibility } from '../stores/contents.js';
import { addToCounters } from '../stores/counters.js';
import { inTransaction } from '../stores/database.js';
import { appendEvent } from '../stores/events.js';
import { ensureUser } from '../stores/users.js';
import type { SocialDeps } from './deps.js';

/**
 * Safe to repeat: the same visibility again writes nothing.
 * @throws TidelineError NOT_FOUND when unknown or deleted; FORBIDDEN unless the viewer is the author.
 */
export async function setVisibility(
  {
    pool,
    onContentChanged,
    announce,
    onCountersChanged,
  }: Pick<SocialDeps, 'pool' | 'onContentChanged' | 'announce' | 'onCountersChanged'>,
  viewer: Viewer,
  contentId: bigint,
  visibility: Visibility,
): Promise<void> {
  const authorId = viewer.userId;
  await inTransaction(pool, async (client) => {
    await ensureUser(client, authorId);
    await lockAuthor(client, authorId);
    const content = await lockContent(client, contentId);
    if (!content || content.isDeleted) throw notFound('There is no such content.');
    if (content.authorId !== authorId) throw forbidden('Only its author may change who sees a content.');
    if (content.visibility === visibility) return;
    await updateVisibility(client, contentId, visibility);
    const change = Number(isCountedRepost({ ...content, visibility })) - Number(isCountedRepost(content));
    if (content.repostOf !== null && change !== 0) {
      await addToCounters(client, [{ contentId: content.repostOf, reposts: change }]);
    }
    await appendEvent(client, { type: 'content.visibility_changed', authorId, contentId });
  });
  onContentChanged(contentId);
  announce?.([{ kind: 'changed', authorId, contentId }]);
  onCountersChanged?.();
}
