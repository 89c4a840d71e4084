import type { Clock } from '../domain/clock.js';
import { importLines } from '../import/import-lines.js';
import type { SourceLine } from '../import/split-lines.js';
import type { Database } from '../stores/database.js';
import { isDatabaseEmpty } from '../stores/status.js';
import { generateDemo } from './generate-demo.js';

export { READER_ID } from './generate-demo.js';

const SEED = 2024;

/**
 * Loads the demo through the import, into a database without users only; about 3 s. True when it did. Inboxes are
 * rebuilt when their owners read.
 */
export async function loadDemo(deps: {
  database: Pick<Database, 'pool'>;
  clock: Clock;
  log: { info(message: string): void };
}): Promise<boolean> {
  if (!(await isDatabaseEmpty(deps.database.pool))) return false;
  const { kinds } = await importLines(deps, numberLines(deps.clock()), { strict: true });
  deps.log.info(
    `Loaded the demo: ${kinds.user.new} users, ${kinds.follow.new} follows, ${kinds.content.new} posts, ` +
      `${kinds.like.new} likes, ${kinds.comment.new} comments.`,
  );
  return true;
}

function* numberLines(nowMs: number): Generator<SourceLine> {
  let lineNo = 0;
  for (const line of generateDemo({ seed: SEED, nowMs })) yield { lineNo: ++lineNo, text: JSON.stringify(line) };
}
