import type { TidelineError } from '../../src/domain/errors.js';
import type { Viewer } from '../../src/domain/viewer.js';
import { createSocial, type Social } from '../../src/social/create-social.js';
import { createIdGenerator } from '../../src/social/id-generator.js';
import { openDatabase, type Database } from '../../src/stores/database.js';
import { createTestDatabase } from './services.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the assertions are the type check
type TestRow = any;

export interface SocialWorld {
  readonly social: Social;
  readonly database: Database;
  /** The contents whose caches were told to drop them, in order. */
  readonly changedContents: bigint[];
  readonly changedUsers: bigint[];
  /** Rows of a query, numerics and bigints as text. */
  readonly rows: (sql: string, values?: unknown[]) => Promise<TestRow[]>;
  readonly addUsers: (...ids: (bigint | number)[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The social side on a database of its own. Close it at the end of the file. */
export async function openSocialWorld(): Promise<SocialWorld> {
  const test = await createTestDatabase();
  const database = openDatabase({ url: test.databaseUrl, poolSize: 8, onError: () => undefined });
  const { pool, prisma } = database;
  const changedContents: bigint[] = [];
  const changedUsers: bigint[] = [];
  const ids = createIdGenerator({ pool, clock: Date.now, log: { warn: () => undefined } });
  const social = createSocial({
    pool,
    prisma,
    ids,
    clock: Date.now,
    cursorKeys: ['a key of at least 16 characters'],
    onContentChanged: (contentId) => changedContents.push(contentId),
    onUserChanged: (userId) => changedUsers.push(userId),
  });
  return {
    social,
    database,
    changedContents,
    changedUsers,
    rows: async (sql, values = []) => (await pool.query(sql, values)).rows,
    async addUsers(...userIds) {
      await pool.query(
        `INSERT INTO users (id, handle, display_name) SELECT id, 'user_' || id, 'User ' || id FROM unnest($1::numeric[]) id`,
        [userIds],
      );
    },
    async close() {
      await ids.close();
      await database.close();
      await test.drop();
    },
  };
}

export const as = (userId: bigint | number): Viewer => ({ userId: BigInt(userId), isAdmin: false });

/** The code of the error that a command ends with; 'none' when it succeeds. */
export const codeOf = async (command: Promise<unknown>): Promise<string> =>
  command.then(
    () => 'none',
    (error: unknown) => (error as TidelineError).code,
  );
