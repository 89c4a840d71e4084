import type { Pool } from '../stores/database.js';
import { findWrongFollowCounts, repairFollowCounts, type FollowCounts } from '../stores/follow-count-check.js';

export type { FollowCounts } from '../stores/follow-count-check.js';

/**
 * Compares how many followers and followed some users have, in ascending id, with the follows; with `isRepairing` it sets
 * right what differs. Safe to repeat and to run anywhere.
 * @returns those that differed, and where the next part begins: null at the end
 */
export async function reconcileFollowCounts(
  { pool }: { pool: Pool },
  part: { after: bigint | null; limit: number; isRepairing: boolean },
): Promise<{ wrong: readonly FollowCounts[]; next: bigint | null }> {
  const { wrong, through } = await findWrongFollowCounts(pool, part);
  if (part.isRepairing) for (const { userId } of wrong) await repairFollowCounts(pool, userId);
  return { wrong, next: through };
}
