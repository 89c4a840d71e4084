import { forbidden } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import { isBlocked } from '../stores/blocks.js';
import { inTransaction } from '../stores/database.js';
import { addFollow, removeFollow } from '../stores/follows.js';
import type { SocialDeps } from './deps.js';
import { lockForFollow } from './lock-pair.js';

/**
 * Sets the wanted state; repeating it changes nothing, neither counts nor seq.
 * @throws TidelineError BAD_USER_INPUT, NOT_FOUND; FORBIDDEN to follow while either blocks the other.
 */
export async function setFollow(
  { pool, announce }: Pick<SocialDeps, 'pool' | 'announce'>,
  viewer: Viewer,
  userId: bigint,
  following: boolean,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await lockForFollow(client, viewer, userId);
    if (!following) {
      await removeFollow(client, viewer.userId, userId);
      return;
    }
    if (await isBlocked(client, viewer.userId, userId)) throw forbidden('This user cannot be followed.');
    await addFollow(client, viewer.userId, userId);
  });
  announce?.([{ kind: 'relations', userId: viewer.userId }]);
}
