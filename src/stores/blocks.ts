import { defineStatement, type Queryable } from './database.js';

/** True when either of the two blocks the other. */
export async function isBlocked(db: Queryable, a: bigint, b: bigint): Promise<boolean> {
  return (await selectBlock(db, [a, b])).length > 0;
}

/** Repeating changes nothing. */
export async function addBlock(db: Queryable, blockerId: bigint, blockedId: bigint): Promise<void> {
  await insertBlock(db, [blockerId, blockedId]);
}

export async function removeBlock(db: Queryable, blockerId: bigint, blockedId: bigint): Promise<void> {
  await deleteBlock(db, [blockerId, blockedId]);
}

const selectBlock = defineStatement(
  'blocks_either',
  `SELECT FROM blocks WHERE (blocker_id = $1 AND blocked_id = $2) OR (blocker_id = $2 AND blocked_id = $1) LIMIT 1`,
);

const insertBlock = defineStatement(
  'blocks_insert',
  'INSERT INTO blocks (blocker_id, blocked_id) VALUES ($1, $2) ON CONFLICT DO NOTHING',
);

const deleteBlock = defineStatement('blocks_delete', 'DELETE FROM blocks WHERE blocker_id = $1 AND blocked_id = $2');
