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
  { pool, announce }: Pick<SocialDeps, 'pool' | 'announce'>,
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
    // In ascending followee, the order in which follower counts are locked.
    const [first, second] = viewer.userId < userId ? [viewer.userId, userId] : [userId, viewer.userId];
    await removeFollow(client, second, first);
    await removeFollow(client, first, second);
  });
  announce?.([viewer.userId, userId].map((id) => ({ kind: 'relations', userId: id })));
}
