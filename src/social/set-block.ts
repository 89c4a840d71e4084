import type { Viewer } from '../domain/viewer.js';
import { addBlock, removeBlock } from '../stores/blocks.js';
import { inTransaction } from '../stores/database.js';
import { removeFollow } from '../stores/follows.js';
import type { SocialDeps } from './deps.js';
import { lockPair } from './lock-pair.js';

/**
 * Sets the wanted state; safe to repeat. Blocking ends follows in both directions; unblocking does not bring them back.
 * @throws TidelineError BAD_USER_INPUT, NOT_FOUND.
 */
export async function setBlock(
  { pool }: Pick<SocialDeps, 'pool'>,
  viewer: Viewer,
  userId: bigint,
  blocked: boolean,
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await lockPair(client, viewer, userId);
    if (!blocked) {
      await removeBlock(client, viewer.userId, userId);
      return;
    }
    await addBlock(client, viewer.userId, userId);
    await removeFollow(client, viewer.userId, userId);
    await removeFollow(client, userId, viewer.userId);
  });
}
