import { defineStatement, type Queryable } from './database.js';
import type { FanoutState } from './fanouts.js';

/** True while there is no user, and so nothing that refers to one. */
export async function isDatabaseEmpty(db: Queryable): Promise<boolean> {
  return (await selectAnyUser(db, [])).length === 0;
}

/** What Postgres takes for now, epoch milliseconds. */
export async function readClock(db: Queryable): Promise<number> {
  return Number((await selectClock(db, []))[0]?.ms);
}

/** Names of the migrations that are applied; null before the first. */
export async function readAppliedMigrations(db: Queryable): Promise<string[] | null> {
  const [table] = await findMigrationTable(db, []);
  if (!table?.exists) return null;
  return (await selectMigrations(db, [])).map((row) => row.migration_name);
}

/** Counted, not estimated: an operator compares these before and after. */
export async function countRows(db: Queryable): Promise<Record<string, number>> {
  const rows = await selectCounts(db, []);
  const numbers = new Map(rows.map(({ name, number }) => [name, Number(number)]));
  return Object.fromEntries(COUNTED.map((name) => [name, numbers.get(name) ?? 0]));
}

export interface DeliveryState {
  readonly fanouts: Readonly<Record<FanoutState, number>>;
  /** Moves whenever anything is planned or delivered. */
  readonly progress: number;
}

export async function readDeliveryState(db: Queryable): Promise<DeliveryState> {
  const rows = await selectFanouts(db, []);
  const fanouts = { PENDING: 0, RUNNING: 0, DONE: 0, FAILED: 0 };
  for (const { state, number } of rows) fanouts[state] = Number(number);
  return { fanouts, progress: rows.reduce((sum, row) => sum + Number(row.progress), fanouts.DONE) };
}

export interface FailedTask {
  readonly contentId: string;
  readonly taskNo: number;
  readonly deliveredCount: number;
  readonly targetCount: number;
  readonly error: string | null;
}

export async function listFailedTasks(db: Queryable, limit: number): Promise<FailedTask[]> {
  return selectFailedTasks(db, [limit]);
}

export interface PolicyInForce {
  readonly epoch: string;
  readonly feedMode: string;
  readonly inboxStore: string;
}

export async function readPolicy(db: Queryable): Promise<PolicyInForce | null> {
  return (await selectPolicy(db, []))[0] ?? null;
}

const selectAnyUser = defineStatement('status_any_user', 'SELECT FROM users LIMIT 1');

const selectClock = defineStatement<{ ms: string }>(
  'status_clock',
  'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS ms',
);

const findMigrationTable = defineStatement<{ exists: boolean }>(
  'status_migration_table',
  `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists`,
);

const selectMigrations = defineStatement<{ migration_name: string }>(
  'status_migrations',
  `SELECT migration_name FROM _prisma_migrations
   WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY migration_name`,
);

const COUNTED = ['users', 'follows', 'blocks', 'contents', 'reactions', 'comments', 'inbox_heads', 'inbox'];

const selectCounts = defineStatement<{ name: string; number: string }>(
  'status_counts',
  COUNTED.map((table) => `SELECT '${table}' AS name, count(*) AS number FROM ${table}`).join(' UNION ALL '),
);

const selectFanouts = defineStatement<{ state: FanoutState; number: string; progress: string }>(
  'status_fanouts',
  `SELECT state, count(*) AS number, sum(task_count + finished_task_count + delivered_count) AS progress
   FROM fanouts GROUP BY state`,
);

const selectFailedTasks = defineStatement<{
  contentId: string;
  taskNo: number;
  deliveredCount: number;
  targetCount: number;
  error: string | null;
}>(
  'status_failed_tasks',
  `SELECT content_id AS "contentId", task_no AS "taskNo", delivered_count AS "deliveredCount",
          target_count AS "targetCount", error
   FROM fanout_tasks WHERE state = 'FAILED' ORDER BY content_id DESC, task_no LIMIT $1`,
);

const selectPolicy = defineStatement<{ epoch: string; feedMode: string; inboxStore: string }>(
  'status_policy',
  `SELECT epoch, feed_mode AS "feedMode", inbox_store AS "inboxStore" FROM feed_state WHERE id = 1`,
);
