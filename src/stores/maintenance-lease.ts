import { defineStatement, type Queryable } from './database.js';

/**
 * Takes the work of that name for so long, and returns where its last holder came to; null while another one holds it.
 * A holder that dies is followed when its time is over.
 */
export async function takeLease(
  db: Queryable,
  lease: { readonly name: string; readonly holder: string; readonly ttlMs: number },
): Promise<string | null> {
  const [row] = await upsertLease(db, [lease.name, lease.holder, lease.ttlMs]);
  return row?.position ?? null;
}

/** Saves how far the work has come and goes on holding it; with `ttlMs` 0 lets go of it. False when it was lost. */
export async function saveLease(
  db: Queryable,
  lease: { readonly name: string; readonly holder: string; readonly ttlMs: number; readonly position: string },
): Promise<boolean> {
  return (await updateLease(db, [lease.name, lease.holder, lease.ttlMs, lease.position])).length > 0;
}

const upsertLease = defineStatement<{ position: string }>(
  'maintenance_take',
  `INSERT INTO maintenance_leases AS l (name, holder, expires_at)
   VALUES ($1, $2, now() + $3::int * interval '1 millisecond')
   ON CONFLICT (name) DO UPDATE SET holder = EXCLUDED.holder, expires_at = EXCLUDED.expires_at
   WHERE l.expires_at <= now() OR l.holder = EXCLUDED.holder RETURNING position`,
);

// Cut to milliseconds: the column would round up, and a lease that was let go of would stand for a moment.
const updateLease = defineStatement<{ name: string }>(
  'maintenance_save',
  `UPDATE maintenance_leases SET position = $4, expires_at = date_trunc('milliseconds', now()) + $3::int * interval '1 millisecond'
   WHERE name = $1 AND holder = $2 RETURNING name`,
);
