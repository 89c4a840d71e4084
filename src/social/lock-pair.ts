import { badInput, notFound } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import type { Queryable } from '../stores/database.js';
import { accountDeleted, createMissingUser, holdUser, lockUsers } from '../stores/users.js';

// A follow changes under its follower's lock, a block under the locks of both: so whoever follows knows of every block
// between the two. All rows are locked in ascending id, as everywhere.

/**
 * Locks the viewer, and holds the other, whom thousands may want to follow at once, until the transaction ends.
 * @throws TidelineError BAD_USER_INPUT when the two are one; NOT_FOUND when the other does not exist; UNAUTHENTICATED.
 */
export async function lockForFollow(db: Queryable, viewer: Viewer, userId: bigint): Promise<void> {
  await prepare(db, viewer, userId);
  const holdOther = async (): Promise<void> => {
    if (!(await holdUser(db, userId))) throw noSuchUser();
  };
  if (userId < viewer.userId) await holdOther();
  const locked = await lockUsers(db, [viewer.userId]);
  if (!locked.has(viewer.userId)) throw accountDeleted();
  if (userId > viewer.userId) await holdOther();
}

/** Locks both until the transaction ends. @throws as lockForFollow */
export async function lockPair(db: Queryable, viewer: Viewer, userId: bigint): Promise<void> {
  await prepare(db, viewer, userId);
  const locked = await lockUsers(db, [viewer.userId, userId]);
  if (!locked.has(viewer.userId)) throw accountDeleted();
  if (!locked.has(userId)) throw noSuchUser();
}

async function prepare(db: Queryable, viewer: Viewer, userId: bigint): Promise<void> {
  if (userId === viewer.userId) throw badInput('userId must name somebody else than the viewer.');
  await createMissingUser(db, viewer.userId);
}

const noSuchUser = () => notFound('There is no such user.');
