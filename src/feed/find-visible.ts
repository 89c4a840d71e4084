import type { Clock } from '../domain/clock.js';
import type { Viewer } from '../domain/viewer.js';
import { readVisibleContents } from '../stores/contents.js';
import type { Pool } from '../stores/database.js';

/** Those of the contents that the viewer (null: somebody without a token) may see now. */
export async function findVisibleIds(
  deps: { pool: Pool; clock: Clock },
  viewer: Viewer | null,
  contentIds: readonly bigint[],
): Promise<ReadonlySet<bigint>> {
  return new Set((await readVisibleContents(deps.pool, contentIds, viewer?.userId ?? null, deps.clock())).keys());
}
