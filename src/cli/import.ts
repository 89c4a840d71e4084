import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { SingleBar } from 'cli-progress';
import type { Command } from 'commander';
import type { App } from '../app.js';
import { importLines, type ImportSummary } from '../import/import-lines.js';
import { splitLines } from '../import/split-lines.js';
import { registerFeedPolicy } from '../stores/feed-state.js';
import { INVALIDATE_ALL, publishInvalidation } from '../stores/invalidations.js';
import { readDeliveryState } from '../stores/status.js';
import { feedPolicyOf } from '../wiring/feed.js';
import { startFanoutWorkers } from '../wiring/workers.js';
import { formatTable } from './format-table.js';
import { withServices } from './with-services.js';

interface Options {
  readonly strict?: boolean;
  readonly deliver?: boolean;
}

export function addImportCommand(program: Command): void {
  program
    .command('import')
    .description('import users, follows, contents, likes and comments, one JSON object a line')
    .argument('<file>', 'NDJSON; lines in any order; importing twice changes nothing')
    .option('--strict', 'stop at the first bad line and change nothing')
    .option('--deliver', 'push new contents to inboxes; without it inboxes are rebuilt when their owners read')
    .action(async (path: string, options: Options) => {
      // Before any service is started for it.
      const file = await open(path);
      try {
        await withServices({ migrate: true }, async ({ app, origin }) => {
          const summary = await importFile(app, file, path, options);
          if (summary.badLines > 0) process.exitCode = 1;
          if (options.deliver && summary.kinds.content.new > 0) await followDelivery(app, origin === 'own');
        });
      } finally {
        await file.close();
      }
    });
}

async function importFile(
  app: App,
  file: Awaited<ReturnType<typeof open>>,
  path: string,
  options: Options,
): Promise<ImportSummary> {
  const startedAt = performance.now();
  const stream = file.createReadStream({ autoClose: false, highWaterMark: 256 * 1024 });
  const progress = showProgress(path, (await file.stat()).size);
  let lines = 0;
  try {
    const summary = await importLines(app, splitLines(stream), {
      ...options,
      onBadLine: ({ lineNo, reason }) => progress.print(`${path}:${lineNo}: ${reason}`),
      onLine(lineNo) {
        if (lineNo === null) {
          progress.finish();
          return;
        }
        lines += 1;
        if (lines % 1_000 === 0) progress.update(stream.bytesRead);
      },
    });
    // Profiles are cached in every process.
    if (summary.kinds.user.changed > 0)
      await publishInvalidation(app.redis, app.config.REDIS_KEY_PREFIX, INVALIDATE_ALL);
    printSummary(summary, lines, (performance.now() - startedAt) / 1_000);
    return summary;
  } finally {
    progress.stop();
    stream.destroy();
  }
}

/** A bar on a terminal, plain lines elsewhere. Both go to standard error. */
function showProgress(path: string, bytes: number) {
  const say = (text: string): boolean => process.stderr.write(`${text}\n`);
  const stop = (): void => undefined;
  if (!process.stderr.isTTY) {
    say(`Reading ${path} ...`);
    return { update: stop, print: say, finish: () => void say('Merging ...'), stop };
  }
  const bar = new SingleBar({ format: 'Reading {bar} {percentage}% | {eta_formatted} left', clearOnComplete: true });
  bar.start(bytes, 0);
  return {
    update: (read: number) => bar.update(read),
    // Over the bar, which draws itself again below.
    print: (text: string) => void process.stderr.write(`\r\u001b[K${text}\n`),
    finish() {
      bar.stop();
      say('Merging ...');
    },
    stop: () => bar.stop(),
  };
}

function printSummary({ kinds, namedUsers, badLines }: ImportSummary, lines: number, seconds: number): void {
  const rows = Object.entries(kinds).map(([kind, counts]) => [
    kind,
    counts.new,
    counts.changed,
    counts.unchanged,
    counts.bad,
  ]);
  console.log(formatTable([['', 'new', 'changed', 'unchanged', 'bad'], ...rows]));
  if (namedUsers > 0) console.log(`Users created because other lines name them: ${namedUsers}.`);
  const unreadable = badLines - Object.values(kinds).reduce((sum, { bad }) => sum + bad, 0);
  if (badLines > 0) console.log(`Bad lines: ${badLines}, of which ${unreadable} could not be read.`);
  console.log(`${lines} lines in ${seconds.toFixed(1)} s.`);
}

const DELIVERY_POLL_MS = 500;
const DELIVERY_STALL_MS = 60_000;

/** Services that end with this command have no workers but its own. */
async function followDelivery(app: App, runsWorkers: boolean): Promise<void> {
  if (!runsWorkers) {
    console.log('The workers go on to deliver the new contents; `status` shows how far they are.');
    return;
  }
  await registerFeedPolicy(app.database.pool, feedPolicyOf(app));
  const workers = startFanoutWorkers(app);
  try {
    console.log((await isDelivered(app)) ? 'Delivered.' : 'Delivery does not move on; the next start continues it.');
  } finally {
    await workers.close();
  }
}

/** False when nothing moved for a minute, or some task failed for good. */
async function isDelivered({ database }: App): Promise<boolean> {
  let progress = -1;
  for (let waitedMs = 0; waitedMs < DELIVERY_STALL_MS; waitedMs += DELIVERY_POLL_MS) {
    const state = await readDeliveryState(database.pool);
    const { PENDING, RUNNING, FAILED } = state.fanouts;
    if (PENDING + RUNNING === 0) return FAILED === 0;
    if (state.progress !== progress) waitedMs = 0;
    progress = state.progress;
    await sleep(DELIVERY_POLL_MS);
  }
  return false;
}
