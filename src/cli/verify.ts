import { SingleBar } from 'cli-progress';
import { InvalidArgumentError, type Command } from 'commander';
import type { App } from '../app.js';
import type { Entry } from '../domain/entry.js';
import { PAGE_SIZE_MAX } from '../domain/page-request.js';
import { readPolicy } from '../stores/status.js';
import { sampleReaders } from '../verify/sample-readers.js';
import { isFaulty, verifyReaders, type Verdict } from '../verify/verify-reader.js';
import { createFeed, createInboxStore } from '../wiring/feed.js';
import { withServices } from './with-services.js';

interface Options {
  readonly users: number;
  readonly pageSize: number;
  readonly json?: boolean;
}

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description('read feeds page by page as their readers would and compare them with the authority; 1 on any fault')
    .option('--users <n>', 'how many of those who follow somebody, the same ones each time', readCount, 100)
    .option('--page-size <n>', `entries a page, at most ${PAGE_SIZE_MAX}`, readPageSize, PAGE_SIZE_MAX)
    .option('--json', 'for programs')
    .action(async (options: Options) => {
      const report = await withServices({ migrate: false }, ({ app }) => verify(app, options));
      console.log(options.json ? JSON.stringify(report, null, 2) : describe(report));
      if (report.faulty.length > 0) process.exitCode = 1;
    });
}

type Report = Awaited<ReturnType<typeof verify>>;

/** Faulty users and ids of one kind that are told one by one; all are counted. */
const TOLD_MAX = 20;

async function verify(app: App, { users, pageSize }: Options) {
  await warnOfOtherStore(app);
  // It only looks: what a read would repair behind its reader's back stays as it is.
  // An onlooker: whoever is verified does not count as having been here.
  const feed = { ...createFeed(app, createInboxStore(app), { schedule: () => undefined }), isObserver: true };
  const userIds = await sampleReaders(app.database.pool, users);
  const progress = process.stderr.isTTY
    ? new SingleBar({ format: 'Verifying {bar} {value} of {total} users', clearOnComplete: true })
    : null;
  progress?.start(userIds.length, 0);
  const sums = { entries: 0, missing: 0, extra: 0, misordered: 0 };
  const faulty: Verdict[] = [];
  try {
    await verifyReaders(feed, userIds, {
      pageSize,
      onVerdict(verdict) {
        progress?.increment();
        sums.entries += verdict.shown;
        for (const kind of KINDS) sums[kind] += verdict[kind].length;
        if (isFaulty(verdict)) faulty.push(verdict);
      },
    });
  } finally {
    progress?.stop();
  }
  return { users: userIds.length, ...sums, faulty: faulty.map(bounded) };
}

const KINDS = ['missing', 'extra', 'misordered'] as const;

const bounded = ({ userId, shown, missing, extra, misordered }: Verdict) => ({
  userId: String(userId),
  shown,
  missing: tell(missing),
  extra: tell(extra),
  misordered: tell(misordered),
});

function tell(entries: readonly Entry[]): string[] {
  const ids = entries.slice(0, TOLD_MAX).map(({ contentId }) => String(contentId));
  return entries.length > TOLD_MAX ? [...ids, `and ${entries.length - TOLD_MAX} more`] : ids;
}

/** A feed reads the inboxes of the recorded store only; of another one's readers it would judge outboxes alone. */
async function warnOfOtherStore(app: App): Promise<void> {
  const recorded = (await readPolicy(app.database.pool))?.inboxStore ?? '';
  const own = createInboxStore(app).name;
  if (recorded === own) return;
  console.error(
    `The deployment's inboxes are in "${recorded}", this command looks for them in "${own}": none is read.`,
  );
}

function describe({ faulty, users, entries, missing, extra, misordered }: Report): string {
  const lines = faulty.slice(0, TOLD_MAX).flatMap((verdict) => {
    const told = KINDS.filter((kind) => verdict[kind].length > 0);
    return [
      `user ${verdict.userId}, ${verdict.shown} entries`,
      ...told.map((kind) => `  ${kind}: ${verdict[kind].join(', ')}`),
    ];
  });
  if (faulty.length > TOLD_MAX) lines.push(`and ${faulty.length - TOLD_MAX} more users`);
  const faults = faulty.length === 0 ? 'all as they must be' : `${faulty.length} faulty`;
  lines.push(
    `${users} feeds, ${entries} entries: ${faults} (missing ${missing}, extra ${extra}, misordered ${misordered}).`,
  );
  return lines.join('\n');
}

function readCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1.');
  return Number(text);
}

function readPageSize(text: string): number {
  const size = readCount(text);
  if (size > PAGE_SIZE_MAX) throw new InvalidArgumentError(`It must be at most ${PAGE_SIZE_MAX}.`);
  return size;
}
