import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../generated/prisma/client.js';

/**
 * The authority. Prisma serves commands and administration; hot reads go through `pg` with named statements (twice the
 * rate of findMany and a third of its CPU for a page). Both share one pool, so a process has one limit.
 */
export interface Database {
  readonly pool: pg.Pool;
  readonly prisma: PrismaClient;
  close(): Promise<void>;
}

/**
 * @param poolSize connections this process may hold; waits for a free one at most 5 s.
 * @param transactionIdleMs a transaction whose process was not heard of for so long is ended, and its locks with it: a
 *   process that hangs, or whose network does, would keep everybody else waiting until TCP gives up.
 */
export function openDatabase(options: {
  url: string;
  poolSize: number;
  onError: (error: Error) => void;
  transactionIdleMs?: number;
}): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: options.transactionIdleMs ?? TRANSACTION_IDLE_MS,
    application_name: 'tideline',
  });
  pool.on('error', options.onError);
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  return {
    pool,
    prisma,
    async close() {
      await prisma.$disconnect();
      if (!pool.ended) await pool.end();
    },
  };
}

/** Longer than anything that a transaction waits for between two statements (Redis, at most some REDIS_TIMEOUT_MS). */
const TRANSACTION_IDLE_MS = 15_000;

export type Pool = pg.Pool;

/** Anything that runs SQL: the pool, or a client inside a transaction. */
export type Queryable = Pick<pg.Pool, 'query'>;

/**
 * A named statement: parsed and planned once per connection. Lists go in as one array for `= ANY($1)`, as a
 * variable-length IN would make a statement per length.
 */
export function defineStatement<Row extends pg.QueryResultRow>(name: string, text: string) {
  return async (db: Queryable, values: unknown[]): Promise<Row[]> => (await db.query<Row>({ name, text, values })).rows;
}

/** Runs `work` in one transaction on one connection; rolls back when it throws. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  // A lost connection rejects the query in progress; its event, unheard, would end the process.
  const ignore = (): void => undefined;
  client.on('error', ignore);
  let failed: Error | undefined;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    failed = error instanceof Error ? error : new Error(String(error));
    // A connection that cannot even roll back is destroyed by release(error), which ends its transaction too.
    await client.query('ROLLBACK').then(
      () => (failed = undefined),
      () => undefined,
    );
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(failed);
  }
}
