import { defineStatement, type Queryable } from './database.js';

/** How long a lease stands without being renewed. */
export const LEASE_MS = 60_000;

export interface IdLease {
  readonly workerId: number;
  /** No id of an earlier holder carries a later millisecond. */
  readonly previousTimeMs: number;
}

/**
 * Leases a free worker id and reserves its milliseconds up to `reservedMs` beyond both `nowMs` (the holder's clock) and
 * what an earlier holder had reserved. The reservation is what keeps ids unique when a holder crashed: it may have used
 * any of it, so the next one starts behind it, even on a clock that stands earlier.
 * @returns null when all 1,024 worker ids are held, or when others were faster to each one tried
 */
export async function takeLease(
  db: Queryable,
  lease: { holder: string; nowMs: number; reservedMs: number },
): Promise<IdLease | null> {
  const values = [lease.holder, lease.nowMs, lease.reservedMs];
  const [row] = await takeExpired(db, values);
  if (row) return { workerId: row.worker_id, previousTimeMs: Number(row.previous_time_ms) };
  for (let attempt = 1; attempt <= INSERT_ATTEMPTS_MAX; attempt += 1) {
    const [fresh] = await insertFresh(db, values);
    if (fresh) return { workerId: fresh.worker_id, previousTimeMs: 0 };
  }
  return null;
}

/** Prolongs the lease and reserves milliseconds through `reservedThroughMs`. False when somebody else holds it now. */
export async function renewLease(
  db: Queryable,
  lease: { workerId: number; holder: string; reservedThroughMs: number },
): Promise<boolean> {
  return (await updateLease(db, [lease.workerId, lease.holder, lease.reservedThroughMs])).length > 0;
}

/** Gives the lease back; `lastTimeMs` is the last millisecond used, so the rest of the reservation is free again. */
export async function releaseLease(
  db: Queryable,
  lease: { workerId: number; holder: string; lastTimeMs: number },
): Promise<void> {
  await endLease(db, [lease.workerId, lease.holder, lease.lastTimeMs]);
}

const INSERT_ATTEMPTS_MAX = 20;
const EXPIRES_AT = `clock_timestamp() + interval '${LEASE_MS} milliseconds'`;

const takeExpired = defineStatement<{ worker_id: number; previous_time_ms: string }>(
  'id_leases_take',
  `WITH expired AS (
     SELECT worker_id, last_time_ms FROM id_leases WHERE expires_at <= clock_timestamp()
     ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED)
   UPDATE id_leases l SET holder = $1, expires_at = ${EXPIRES_AT},
     last_time_ms = greatest(expired.last_time_ms, $2::bigint) + $3::bigint
   FROM expired WHERE l.worker_id = expired.worker_id
   RETURNING l.worker_id, expired.last_time_ms AS previous_time_ms`,
);

// A random one, so that processes that start together seldom want the same.
const insertFresh = defineStatement<{ worker_id: number }>(
  'id_leases_insert',
  `INSERT INTO id_leases (worker_id, holder, expires_at, last_time_ms)
   SELECT n, $1, ${EXPIRES_AT}, $2::bigint + $3::bigint
   FROM generate_series(0, 1023) n WHERE NOT EXISTS (SELECT FROM id_leases WHERE worker_id = n)
   ORDER BY random() LIMIT 1
   ON CONFLICT DO NOTHING RETURNING worker_id`,
);

const updateLease = defineStatement(
  'id_leases_renew',
  `UPDATE id_leases SET expires_at = ${EXPIRES_AT}, last_time_ms = greatest(last_time_ms, $3::bigint)
   WHERE worker_id = $1 AND holder = $2 RETURNING worker_id`,
);

const endLease = defineStatement(
  'id_leases_release',
  `UPDATE id_leases SET expires_at = clock_timestamp(), last_time_ms = $3 WHERE worker_id = $1 AND holder = $2`,
);
