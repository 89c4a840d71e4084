import { forbidden, notFound } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import { markAccountDeleted } from '../stores/accounts.js';
import { inTransaction } from '../stores/database.js';
import { createMissingUser, ensureUser } from '../stores/users.js';
import type { SocialDeps } from './deps.js';

/**
 * Deletes an account for good: at once for everybody else, and in the background down to its last row
 * (remove-accounts.ts). Safe to repeat, by its owner too.
 * @throws TidelineError FORBIDDEN unless the viewer owns it or is an admin; NOT_FOUND.
 */
export async function deleteAccount(
  { pool, onUserChanged }: Pick<SocialDeps, 'pool' | 'onUserChanged'>,
  viewer: Viewer,
  userId: bigint,
): Promise<void> {
  const isOwn = userId === viewer.userId;
  if (!isOwn && !viewer.isAdmin) throw forbidden('Only its owner and admins may delete an account.');
  await inTransaction(pool, async (client) => {
    // An owner who never did anything here has an id that must not be given to somebody else either.
    await (isOwn ? createMissingUser(client, userId) : ensureUser(client, viewer.userId));
    if (!(await markAccountDeleted(client, userId))) throw notFound('There is no such user.');
  });
  onUserChanged(userId);
}
