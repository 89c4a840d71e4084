import { badInput, notFound, type TidelineError } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import { readVisiblePairs } from '../stores/contents.js';
import { addToCounters, type CountChange } from '../stores/counters.js';
import { isDatabaseAway } from '../stores/database-away.js';
import { inTransaction } from '../stores/database.js';
import {
  reactionKeyOf,
  saveReactions,
  type ReactionKind,
  type ReactionState,
  type SavedReaction,
  type WantedReaction,
} from '../stores/reactions.js';
import { accountDeleted, createMissingUser, holdUsers } from '../stores/users.js';
import { createBatchedWork } from './batch-work.js';
import type { SocialDeps } from './deps.js';

export interface ReactionInput {
  readonly contentId: bigint;
  readonly kind: ReactionKind;
  readonly active: boolean;
  /** Orders the viewer's own actions on the content; left out, the action is the newest. */
  readonly version?: number | null | undefined;
}

export type SetReaction = (viewer: Viewer, input: ReactionInput) => Promise<ReactionState>;

/** Reactions of one transaction; two at once, as one of them waits for the disk. 100 cost little more than one. */
const BATCH_MAX = 100;
const BATCHES_AT_ONCE = 2;
const WAITING_MAX = 10_000;

type Deps = Pick<SocialDeps, 'pool' | 'clock' | 'onCountersChanged'>;

/**
 * Sets the wanted state and answers with the one that stands. A version below the stored one changes nothing; a repeated
 * like counts once, as the counter moves only when the state does, and in the same transaction. What many want at once is
 * written together, so that a content that everybody likes costs a few transactions.
 * @throws TidelineError BAD_USER_INPUT; NOT_FOUND when the viewer may not see the content; UNAUTHENTICATED when the account
 * was deleted; SERVICE_UNAVAILABLE.
 */
export function createSetReaction(deps: Deps): SetReaction {
  const batches = createBatchedWork<WantedReaction, ReactionState>({
    keyOf: reactionKeyOf,
    groupOf: ({ version }) => (version === null ? 'next' : 'versioned'),
    work: (wanted) => reactTogether(deps, wanted),
    sizeMax: BATCH_MAX,
    concurrency: BATCHES_AT_ONCE,
    waitingMax: WAITING_MAX,
  });
  return async (viewer, { contentId, kind, active, version = null }) => {
    if ((version ?? 0) < 0) throw badInput('version must not be negative.');
    return batches.run({ contentId, kind, active, version, userId: viewer.userId, wantedAt: deps.clock() });
  };
}

/** One outcome each: what the viewer may not see fails alone. */
async function reactTogether(deps: Deps, wanted: readonly WantedReaction[]): Promise<(ReactionState | Error)[]> {
  const pairs = await readVisiblePairs(deps.pool, wanted, deps.clock());
  for (const [i, { userId }] of wanted.entries()) {
    if (pairs[i]?.isVisible && !pairs[i].isKnownUser) await createMissingUser(deps.pool, userId);
  }
  const visible = wanted.filter((_, i) => pairs[i]?.isVisible);
  const saved = visible.length > 0 ? await saveTogether(deps, visible) : [];
  if (saved.some((outcome) => !(outcome instanceof Error) && outcome.change !== 0)) deps.onCountersChanged?.();
  const outcomes = saved.values();
  return wanted.map((_, i) => {
    if (!pairs[i]?.isVisible) return notFound('There is no such content.');
    const outcome = outcomes.next().value as SavedReaction | Error;
    return outcome instanceof Error ? outcome : { active: outcome.active, version: outcome.version };
  });
}

/** A user or content that was removed meanwhile fails the transaction of all; then each is tried alone. */
async function saveTogether(deps: Deps, wanted: readonly WantedReaction[]): Promise<(SavedReaction | Error)[]> {
  try {
    return await saveAndCount(deps, wanted);
  } catch (error) {
    if (wanted.length === 1 || isDatabaseAway(error)) throw error;
  }
  const outcomes: (SavedReaction | Error)[] = [];
  for (const one of wanted) {
    const outcome = await saveTogether(deps, [one]).catch((error: unknown) => [error as Error]);
    outcomes.push(...outcome);
  }
  return outcomes;
}

const saveAndCount = async (
  { pool }: Deps,
  wanted: readonly WantedReaction[],
): Promise<(SavedReaction | TidelineError)[]> =>
  inTransaction(pool, async (client) => {
    const held = await holdUsers(client, [...new Set(wanted.map(({ userId }) => userId))]);
    const standing = wanted.filter(({ userId }) => held.has(userId));
    const saved = standing.length > 0 ? await saveReactions(client, standing) : [];
    await addToCounters(client, sumChanges(standing, saved));
    const outcomes = saved.values();
    return wanted.map(({ userId }) => (held.has(userId) ? (outcomes.next().value as SavedReaction) : accountDeleted()));
  });

function sumChanges(wanted: readonly WantedReaction[], saved: readonly SavedReaction[]): CountChange[] {
  const sums = new Map<bigint, { contentId: bigint; likes: number; favorites: number }>();
  for (const [i, { contentId, kind }] of wanted.entries()) {
    const change = saved[i]?.change ?? 0;
    const sum = sums.get(contentId) ?? { contentId, likes: 0, favorites: 0 };
    sum[kind === 'LIKE' ? 'likes' : 'favorites'] += change;
    sums.set(contentId, sum);
  }
  return [...sums.values()].filter(({ likes, favorites }) => likes !== 0 || favorites !== 0);
}
