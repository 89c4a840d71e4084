// `npm run bench -- memory [--inboxes N] [--entries N] [--late N]`: bytes of Redis memory an entry while inboxes grow by
// deliveries, past their cap: everything counted, keys and heads included. Some entries arrive late, out of order.
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import type { Entry } from '../src/domain/entry.js';
import { startPrivateServices } from '../test/load/private-services.js';
import { createLayouts, type Layout } from './lib/inbox-layouts.js';
import { round } from './lib/numbers.js';

const { values: options } = parseArgs({
  options: {
    inboxes: { type: 'string', default: '2000' },
    /** INBOX_MAX_ENTRIES. */
    entries: { type: 'string', default: '1000' },
    /** Of 100 entries, this many arrive up to 50 places late. */
    late: { type: 'string', default: '5' },
    /** Taken for symmetry with other benches: this one ends when the inboxes are full. */
    seconds: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const inboxes = Number(options.inboxes);
const cap = Number(options.entries);
const latePercent = Number(options.late);
const CHUNK = 1_000;
const STEP_MS = 1_000;
const START_MS = 1_750_000_000_000;
/** Parts of the cap at which memory is looked at: while growing, when full, and long after. */
const STAGES = [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25];

const services = await startPrivateServices();
const redis = new Redis(services.redisUrl);
const userIds = Array.from({ length: inboxes }, (_, i) => BigInt(i + 1));
try {
  const layouts = Object.values(createLayouts(redis, cap));
  const table = [];
  for (const layout of layouts) table.push({ name: layout.name, ...(await grow(layout)) });
  if (!options.json) console.table(Object.fromEntries(table.map(({ name, ...row }) => [name, row.bytesPerEntry])));
  const [packed, , classic] = table;
  const ratio = packed && classic && round(classic.mean / packed.mean);
  console.log(
    JSON.stringify({ bench: 'memory', inboxes, entries: cap, latePercent, classicOfPacked: ratio, layouts: table }),
  );
} finally {
  redis.disconnect();
  await services.discard();
}

async function grow(layout: Layout) {
  await redis.flushall();
  const empty = await readUsedBytes();
  for (const userId of userIds) await layout.open(userId);
  const bytesPerEntry: Record<string, number> = {};
  const full: number[] = [];
  for (let n = 1; n <= cap * (STAGES.at(-1) ?? 1); n += 1) {
    for (let from = 0; from < inboxes; from += CHUNK)
      await layout.deliver(userIds.slice(from, from + CHUNK), entryAt(n));
    if (!STAGES.some((part) => n === Math.round(part * cap))) continue;
    const bytes = ((await readUsedBytes()) - empty) / inboxes / Math.min(n, cap);
    bytesPerEntry[`${n} delivered`] = round(bytes);
    if (n >= cap) full.push(bytes);
  }
  return { bytesPerEntry, mean: round(full.reduce((sum, it) => sum + it, 0) / full.length) };
}

function entryAt(n: number): Entry {
  const isLate = (n * 37) % 100 < latePercent;
  const publishTime = START_MS + n * STEP_MS - (isLate ? ((n * 7) % 50) * STEP_MS + 1 : 0);
  return { publishTime, contentId: (1n << 62n) + BigInt(n) };
}

async function readUsedBytes(): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}
