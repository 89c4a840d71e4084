import type { Clock } from '../domain/clock.js';
import { TidelineError } from '../domain/errors.js';
import type { Database } from '../stores/database.js';
import { openImportStage, type BadLine, type ImportKind, type KindCounts } from '../stores/import-stage.js';
import { readLine } from './read-line.js';
import type { SourceLine } from './split-lines.js';

export interface ImportOptions {
  /** Stops at the first bad line and changes nothing. */
  readonly strict?: boolean;
  /** Sends new contents through the push path; without it inboxes are rebuilt when their owners read. */
  readonly deliver?: boolean;
  /** First the lines that cannot be read, then those that do not fit the others or the database; by number in each. */
  readonly onBadLine?: (bad: BadLine) => void;
  /** Called for each line read, and with null when reading is over and the merge begins. */
  readonly onLine?: (lineNo: number | null) => void;
}

export interface ImportSummary {
  readonly kinds: Readonly<Record<ImportKind, KindCounts>>;
  /** Users created because other lines name them. */
  readonly namedUsers: number;
  /** All bad lines: those of `kinds`, and those that cannot be read. */
  readonly badLines: number;
}

/** Ends a strict import. */
export class BadLineError extends Error {
  constructor(readonly bad: BadLine) {
    super(`line ${bad.lineNo}: ${bad.reason}`);
    this.name = 'BadLineError';
  }
}

/**
 * Imports lines in any order, in bounded memory: they are staged in temporary tables, checked against each other and the
 * database, and merged in one transaction in the order of their dependencies. What is there stays as it is, so that
 * importing twice changes nothing; only a user line replaces the profile that it names.
 * @throws BadLineError when `strict` and a line is bad. After any error the database is as it was.
 */
export async function importLines(
  deps: { database: Pick<Database, 'pool'>; clock: Clock },
  lines: AsyncIterable<SourceLine> | Iterable<SourceLine>,
  { strict = false, deliver = false, onBadLine, onLine }: ImportOptions = {},
): Promise<ImportSummary> {
  const nowMs = deps.clock();
  let badLines = 0;
  const report = (bad: BadLine): void => {
    if (strict) throw new BadLineError(bad);
    badLines += 1;
    onBadLine?.(bad);
  };

  const stage = await openImportStage(deps.database.pool);
  try {
    for await (const line of lines) {
      const row = readRow(line, nowMs);
      if ('reason' in row) report(row);
      else if (stage.add(line.lineNo, row)) await stage.flush();
      onLine?.(line.lineNo);
    }
    onLine?.(null);
    await stage.check();
    for await (const bad of stage.listBadLines()) report(bad);
    return { ...(await stage.merge({ nowMs, deliver })), badLines };
  } finally {
    stage.close();
  }
}

function readRow(line: SourceLine, nowMs: number) {
  if ('fault' in line) return { lineNo: line.lineNo, reason: line.fault };
  try {
    return readLine(line.text, nowMs);
  } catch (error) {
    if (error instanceof TidelineError) return { lineNo: line.lineNo, reason: error.message };
    throw error;
  }
}
