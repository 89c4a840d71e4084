import {
  deleteAccountState,
  deleteBlocks,
  deleteReaction,
  endFollowers,
  endFollowing,
  listReactions,
  listRemovals,
  listStandingComments,
  listStandingContents,
  readRemovalStep,
  REMOVAL_STEPS,
  saveRemovalStep,
  settleAccount,
  type RemovalStep,
} from '../stores/accounts.js';
import { lockComment, markCommentDeleted } from '../stores/comments.js';
import { addToCounter } from '../stores/counters.js';
import { inTransaction, type Pool, type Queryable } from '../stores/database.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';
import { tryLockRebuild } from '../stores/rebuild-lock.js';
import { removeContent } from './delete-content.js';

export interface RemovalDeps {
  readonly pool: Pool;
  readonly inbox: Pick<InboxStore, 'drop'>;
  /** Projections of big accounts' outboxes. */
  readonly outboxes: Pick<InboxStore, 'drop'>;
  /** Rows of one step. */
  readonly batchSize?: number;
}

const BATCH = 200;

/** Accounts looked at in one call. */
const ACCOUNTS_MAX = 100;

/**
 * Removes what deleted accounts left, account by account in small steps, each of which commits what it did: a process that
 * dies goes on, here or elsewhere, where it was. What fails is told and tried again at the next call, after the others.
 * Returns how many accounts were finished.
 */
export async function removeAccounts(
  deps: RemovalDeps,
  onError: (userId: bigint, error: unknown) => void = () => undefined,
): Promise<number> {
  let finished = 0;
  for (const userId of await listRemovals(deps.pool, ACCOUNTS_MAX)) {
    try {
      let state: StepState = 'more';
      while (state === 'more') state = await removeStep(deps, userId);
      if (state === 'done') finished += 1;
    } catch (error) {
      onError(userId, error);
    }
  }
  return finished;
}

/** `busy`: another process is at it. */
export type StepState = 'more' | 'done' | 'busy';

/** At most one batch of one kind of what an account left. Safe to repeat, and beside others: each row goes once. */
export async function removeStep(deps: RemovalDeps, userId: bigint): Promise<StepState> {
  return inTransaction(deps.pool, async (client) => {
    if (!(await tryLockRebuild(client, 'account', userId))) return 'busy';
    const step = await readRemovalStep(client, userId);
    if (!step) return 'done';
    if ((await remove[step](deps, userId)) > 0) return 'more';
    const next = REMOVAL_STEPS[REMOVAL_STEPS.indexOf(step) + 1] ?? null;
    await saveRemovalStep(client, userId, next);
    return next ? 'more' : 'done';
  });
}

/** Each returns how much it found to remove. */
const remove: Record<RemovalStep, (deps: RemovalDeps, userId: bigint) => Promise<number>> = {
  settle: async ({ pool }, userId) => {
    await inTransaction(pool, (client) => settleAccount(client, userId));
    return 0;
  },

  contents: async ({ pool, batchSize = BATCH }, userId) =>
    removeEach(pool, await listStandingContents(pool, userId, batchSize), (client, id) =>
      removeContent(client, userId, id),
    ),

  comments: async ({ pool, batchSize = BATCH }, userId) =>
    removeEach(pool, await listStandingComments(pool, userId, batchSize), async (client, id) => {
      const comment = await lockComment(client, id);
      if (!comment || comment.isDeleted) return;
      await markCommentDeleted(client, id);
      await addToCounter(client, comment.contentId, 'comments', -1);
    }),

  reactions: async ({ pool, batchSize = BATCH }, userId) =>
    removeEach(pool, await listReactions(pool, userId, batchSize), async (client, reaction) => {
      if (!(await deleteReaction(client, userId, reaction))) return;
      await addToCounter(client, reaction.contentId, reaction.kind === 'LIKE' ? 'likes' : 'favorites', -1);
    }),

  following: ({ pool, batchSize = BATCH }, userId) =>
    inTransaction(pool, (client) => endFollowing(client, userId, batchSize)),
  followers: ({ pool, batchSize = BATCH }, userId) =>
    inTransaction(pool, (client) => endFollowers(client, userId, batchSize)),
  blocks: ({ pool, batchSize = BATCH }, userId) => deleteBlocks(pool, userId, batchSize),

  /** A rebuild that read the account before it was deleted may be about to begin its inbox: it is waited for. */
  feed: ({ pool, inbox, outboxes }, userId) =>
    inTransaction(pool, async (client) => {
      const isAlone =
        (await tryLockRebuild(client, 'inbox', userId)) && (await tryLockRebuild(client, 'outbox', userId));
      if (!isAlone) throw new Error('a rebuild of its inbox is under way');
      await inbox.drop([userId]);
      await outboxes.drop([userId]);
      await deleteAccountState(client, userId);
      return 0;
    }),
};

/** One transaction each: none waits for a row of another one's content while it holds one's own. */
async function removeEach<Item>(
  pool: Pool,
  items: readonly Item[],
  removeOne: (client: Queryable, item: Item) => Promise<void>,
): Promise<number> {
  for (const item of items) await inTransaction(pool, (client) => removeOne(client, item));
  return items.length;
}
