import { badInput, notFound } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import type { Queryable } from '../stores/database.js';
import { ensureUser, lockUsers } from '../stores/users.js';

/**
 * Locks the viewer and the other until the transaction ends. Whatever changes between two people (follows, blocks,
 * counts, the follower's seq) changes under both locks.
 * @throws TidelineError BAD_USER_INPUT when the two are one; NOT_FOUND when the other does not exist.
 */
export async function lockPair(db: Queryable, viewer: Viewer, userId: bigint): Promise<void> {
  if (userId === viewer.userId) throw badInput('userId must name somebody else than the viewer.');
  await ensureUser(db, viewer.userId);
  const locked = await lockUsers(db, [viewer.userId, userId]);
  if (!locked.has(userId)) throw notFound('There is no such user.');
}
