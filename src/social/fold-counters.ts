import { foldShards, listShardedContents } from '../stores/counter-shards.js';
import type { Pool } from '../stores/database.js';

/** Contents looked up at once. */
const CONTENTS_MAX = 500;

/**
 * Brings the counts of contents that were hot back into one row each. Safe to repeat and to run anywhere: a fold is one
 * transaction, in which no count changes. Returns how many shards it folded.
 */
export async function foldCounters({ pool }: { pool: Pool }): Promise<number> {
  let folded = 0;
  // Ends: each page begins behind the last one, and ids that are added meanwhile are as finite as contents.
  for (let after = -1n; ;) {
    const contentIds = await listShardedContents(pool, after, CONTENTS_MAX);
    for (const contentId of contentIds) folded += await foldShards(pool, contentId);
    if (contentIds.length < CONTENTS_MAX) return folded;
    after = contentIds.at(-1) ?? after;
  }
}
