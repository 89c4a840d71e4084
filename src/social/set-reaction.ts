import { badInput } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import { addToCounter } from '../stores/counters.js';
import { inTransaction } from '../stores/database.js';
import { lockReaction, saveReaction, type ReactionKind, type ReactionState } from '../stores/reactions.js';
import { ensureUser } from '../stores/users.js';
import type { SocialDeps } from './deps.js';
import { requireVisible } from './require-visible.js';

export interface ReactionInput {
  readonly contentId: bigint;
  readonly kind: ReactionKind;
  readonly active: boolean;
  /** Orders the viewer's own actions on the content; left out, the action is the newest. */
  readonly version?: number | null | undefined;
}

/** GraphQL's Int. A version that has come this far stays there. */
const VERSION_MAX = 2 ** 31 - 1;

/**
 * Sets the wanted state and answers with the one that stands. A version below the stored one changes nothing; a repeated
 * like counts once, as the counter moves only when the state does.
 * @throws TidelineError BAD_USER_INPUT; NOT_FOUND when the viewer may not see the content.
 */
export async function setReaction(
  { pool, clock }: Pick<SocialDeps, 'pool' | 'clock'>,
  viewer: Viewer,
  input: ReactionInput,
): Promise<ReactionState> {
  const { contentId, kind, active } = input;
  if ((input.version ?? 0) < 0) throw badInput('version must not be negative.');
  const key = { contentId, kind, userId: viewer.userId };
  return inTransaction(pool, async (client) => {
    await requireVisible(client, viewer, contentId, clock());
    await ensureUser(client, viewer.userId);
    const stored = await lockReaction(client, key);
    const version = input.version ?? Math.min(stored.version + 1, VERSION_MAX);
    if (version < stored.version) return stored;
    await saveReaction(client, key, { active, version });
    if (active !== stored.active) {
      await addToCounter(client, contentId, kind === 'LIKE' ? 'likes' : 'favorites', active ? 1 : -1);
    }
    return { active, version };
  });
}
