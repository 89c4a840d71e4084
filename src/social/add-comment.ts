import type { Viewer } from '../domain/viewer.js';
import { insertComment, type StoredComment } from '../stores/comments.js';
import { addToCounter } from '../stores/counters.js';
import { inTransaction } from '../stores/database.js';
import { ensureUser } from '../stores/users.js';
import type { SocialDeps } from './deps.js';
import { requireVisible } from './require-visible.js';
import { readIdempotencyKey, readText } from './validate-text.js';

export interface CommentInput {
  readonly contentId: bigint;
  readonly text: string;
  readonly idempotencyKey?: string | null | undefined;
}

const TEXT_LENGTH_MAX = 2000;

/**
 * Safe to repeat with an idempotencyKey: the unique index of (user, key) lets one comment in.
 * @throws TidelineError BAD_USER_INPUT; NOT_FOUND when the viewer may not see the content.
 */
export async function addComment(
  { pool, ids, clock, onCountersChanged }: Pick<SocialDeps, 'pool' | 'ids' | 'clock' | 'onCountersChanged'>,
  viewer: Viewer,
  input: CommentInput,
): Promise<StoredComment> {
  const { contentId } = input;
  const text = readText(input.text, 'text', { min: 1, max: TEXT_LENGTH_MAX });
  const idempotencyKey = readIdempotencyKey(input.idempotencyKey);
  await ids.ready();
  const comment = await inTransaction(pool, async (client) => {
    await requireVisible(client, viewer, contentId, clock());
    await ensureUser(client, viewer.userId);
    const { id: commentId, timeMs: createdAt } = ids.next();
    const { comment: standing, isNew } = await insertComment(
      client,
      { commentId, contentId, userId: viewer.userId, text, createdAt },
      idempotencyKey,
    );
    if (isNew) await addToCounter(client, contentId, 'comments', 1);
    return standing;
  });
  onCountersChanged?.();
  return comment;
}
