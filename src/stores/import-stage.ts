import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { checkStaged } from './import-check.js';
import { IMPORT_KINDS, mergeStaged, type ImportKind, type MergeCounts } from './import-merge.js';

export type { ImportKind, KindCounts, MergeCounts } from './import-merge.js';

/** One line of an import as it is staged. Times are epoch milliseconds. */
export type StagedRow =
  | {
      kind: 'user';
      id: bigint;
      handle: string;
      displayName: string;
      avatarUrl: string | null;
      lastActiveAt: number | null;
    }
  | { kind: 'follow'; follower: bigint; followee: bigint; at: number }
  | {
      kind: 'content';
      id: bigint;
      author: bigint;
      publishTime: number;
      text: string;
      media: readonly object[];
      visibility: 'PUBLIC' | 'FOLLOWERS' | 'PRIVATE';
      repostOf: bigint | null;
    }
  | { kind: 'like'; user: bigint; content: bigint; at: number }
  | { kind: 'comment'; id: bigint; content: bigint; user: bigint; text: string; at: number };

export interface BadLine {
  readonly lineNo: number;
  readonly reason: string;
}

export interface ImportStage {
  /** True when enough rows wait for a flush(). */
  add(lineNo: number, row: StagedRow): boolean;
  flush(): Promise<void>;
  /** Takes out the lines that contradict others or the database, and those that say what is there already. */
  check(): Promise<void>;
  /** In line order. */
  listBadLines(): AsyncIterable<BadLine>;
  /** Writes what is left, in one transaction. */
  merge(options: { nowMs: number; deliver: boolean }): Promise<MergeCounts>;
  close(): void;
}

/** Lines staged by one COPY. Larger batches gain nothing measurable. */
const BATCH_ROWS = 5_000;
const BATCH_CHARACTERS = 4 * 1024 * 1024;

/**
 * Temporary tables on a connection of their own: they are not logged, nobody else sees them, and they end with the
 * connection, however the import ends.
 */
export async function openImportStage(pool: pg.Pool): Promise<ImportStage> {
  const client = await pool.connect();
  // A lost connection rejects the query in progress, or the next one; the event only repeats it.
  client.on('error', () => undefined);
  let waiting = emptyBatch();
  let waitingRows = 0;
  let waitingCharacters = 0;

  async function flush(): Promise<void> {
    const batch = waiting;
    waiting = emptyBatch();
    waitingRows = 0;
    waitingCharacters = 0;
    for (const kind of IMPORT_KINDS) {
      if (batch[kind].length === 0) continue;
      await pipeline([batch[kind].join('')], client.query(copyFrom(`COPY ${tables[kind].name} FROM STDIN`)));
    }
  }

  try {
    await client.query(`SET statement_timeout = 0; SET temp_buffers = '64MB'; SET work_mem = '64MB'`);
    await client.query(CREATE_TABLES);
  } catch (error) {
    client.release(true);
    throw error;
  }
  return {
    add(lineNo, row) {
      const text = `${[lineNo, ...tables[row.kind].values(row as never)].map(encodeField).join('\t')}\n`;
      waiting[row.kind].push(text);
      waitingRows += 1;
      waitingCharacters += text.length;
      return waitingRows >= BATCH_ROWS || waitingCharacters >= BATCH_CHARACTERS;
    },
    flush,
    async check() {
      await flush();
      await checkStaged(client);
    },
    async *listBadLines() {
      for (let after = -1; ;) {
        const { rows } = await client.query<{ line: string; reason: string }>(
          'SELECT line, reason FROM import_bad WHERE line > $1 ORDER BY line LIMIT 1000',
          [after],
        );
        for (const { line, reason } of rows) yield { lineNo: (after = Number(line)), reason };
        if (rows.length < 1000) return;
      }
    },
    merge: (options) => mergeStaged(client, options),
    // Destroyed: with the connection go its tables and settings.
    close: () => client.release(true),
  };
}

type Field = bigint | number | string | null;
type Tables = { [K in ImportKind]: { name: string; values: (row: Extract<StagedRow, { kind: K }>) => Field[] } };

const tables: Tables = {
  user: {
    name: 'import_users',
    values: (row) => [row.id, row.handle, row.displayName, row.avatarUrl, row.lastActiveAt],
  },
  follow: { name: 'import_follows', values: (row) => [row.follower, row.followee, row.at] },
  content: {
    name: 'import_contents',
    values: (row) => [
      row.id,
      row.author,
      row.publishTime,
      row.text,
      JSON.stringify(row.media),
      row.visibility,
      row.repostOf,
    ],
  },
  like: { name: 'import_likes', values: (row) => [row.content, row.user, row.at] },
  comment: { name: 'import_comments', values: (row) => [row.id, row.content, row.user, row.text, row.at] },
};

const CREATE_TABLES = `
  CREATE TEMP TABLE import_users
    (line bigint, id numeric, handle text, display_name text, avatar_url text, last_active_at bigint);
  CREATE TEMP TABLE import_follows (line bigint, follower_id numeric, followee_id numeric, at bigint);
  CREATE TEMP TABLE import_contents
    (line bigint, id numeric, author_id numeric, publish_time bigint, text text, media jsonb, visibility visibility,
     repost_of numeric);
  CREATE TEMP TABLE import_likes (line bigint, content_id numeric, user_id numeric, at bigint);
  CREATE TEMP TABLE import_comments
    (line bigint, id numeric, content_id numeric, user_id numeric, text text, at bigint);
  CREATE TEMP TABLE import_staged (kind text, lines bigint);
  CREATE TEMP TABLE import_bad (line bigint, kind text, reason text)`;

const emptyBatch = (): Record<ImportKind, string[]> => ({ user: [], follow: [], content: [], like: [], comment: [] });

/** COPY's text format. */
function encodeField(value: Field): string {
  if (value === null) return '\\N';
  return typeof value === 'string'
    ? value.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character] as string)
    : String(value);
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };
