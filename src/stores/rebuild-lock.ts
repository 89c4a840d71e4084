import { defineStatement, type Queryable } from './database.js';

/** False when another transaction rebuilds (or, of an account, removes) this one. Held until the transaction ends, so a crash frees it. */
export async function tryLockRebuild(
  client: Queryable,
  kind: 'inbox' | 'outbox' | 'account',
  userId: bigint,
): Promise<boolean> {
  const [row] = await tryLock(client, [`rebuild ${kind} ${userId.toString()}`]);
  return row?.locked ?? false;
}

const tryLock = defineStatement<{ locked: boolean }>(
  'rebuild_try_lock',
  `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked`,
);
