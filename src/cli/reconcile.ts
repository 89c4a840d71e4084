import type { Command } from 'commander';
import type { App } from '../app.js';
import { FROM_NEWEST, reconcileCounters, type CounterDifference } from '../social/reconcile-counters.js';
import { reconcileFollowCounts, type FollowCounts } from '../social/reconcile-follow-counts.js';
import { createAppCountProjection } from '../wiring/counters.js';
import { withServices } from './with-services.js';

interface Options {
  readonly check?: boolean;
  readonly json?: boolean;
}

export function addReconcileCommand(program: Command): void {
  program
    .command('reconcile')
    .description(
      'compare counts with the likes, comments, reposts and follows that they count, and set right what differs',
    )
    .option('--check', 'only compare; exits with 1 on any difference')
    .option('--json', 'for programs')
    .action(async (options: Options) => {
      const report = await withServices({ migrate: false }, ({ app }) => reconcile(app, !options.check));
      console.log(options.json ? JSON.stringify(report, null, 2) : describe(report, !options.check));
      if (options.check && report.differing + report.projected + report.users > 0) process.exitCode = 1;
    });
}

type Report = Awaited<ReturnType<typeof reconcile>>;

/** Differences that are told one by one; all are counted. */
const TOLD_MAX = 20;

async function reconcile(app: App, isRepairing: boolean) {
  const deps = { pool: app.database.pool, projection: createAppCountProjection(app) };
  const limit = app.config.RECONCILE_BATCH;
  const report = {
    contents: 0,
    differing: 0,
    projected: 0,
    isProjectionRead: true,
    users: 0,
    told: [] as CounterDifference[],
    toldUsers: [] as FollowCounts[],
  };
  // Both end: each part begins behind the last one.
  for (let before: bigint | null = FROM_NEWEST; before !== null;) {
    const part = await reconcileCounters(deps, { before, limit, isRepairing });
    report.contents += part.contents;
    report.differing += part.differences.length;
    report.projected += part.projected?.length ?? 0;
    report.isProjectionRead &&= part.projected !== null;
    report.told.push(...part.differences.slice(0, TOLD_MAX - report.told.length));
    before = part.next;
  }
  for (let after: bigint | null | undefined; after !== null;) {
    const part = await reconcileFollowCounts(deps, { after: after ?? null, limit, isRepairing });
    report.users += part.wrong.length;
    report.toldUsers.push(...part.wrong.slice(0, TOLD_MAX - report.toldUsers.length));
    after = part.next;
  }
  return {
    ...report,
    told: report.told.map((difference) => ({ ...difference, contentId: String(difference.contentId) })),
    toldUsers: report.toldUsers.map((counts) => ({ ...counts, userId: String(counts.userId) })),
  };
}

function describe(report: Report, isRepairing: boolean): string {
  const { contents, differing, projected, users, told, toldUsers } = report;
  const lines = [
    ...told.map(
      ({ contentId, counter, stored, counted }) => `content ${contentId}: ${counter} ${stored}, counted ${counted}`,
    ),
    ...toldUsers.map(
      ({ userId, followers, following }) =>
        `user ${userId}: followers ${followers.counted}, counted ${followers.actual}; ` +
        `following ${following.counted}, counted ${following.actual}`,
    ),
  ];
  const untold = differing - told.length + users - toldUsers.length;
  if (untold > 0) lines.push(`and ${untold} more`);
  const verb = isRepairing ? 'set right' : 'found wrong';
  lines.push(
    `${contents} contents and all users compared: ${differing} counts, ${projected} projections and the follows of ` +
      `${users} users ${verb}.`,
  );
  if (!report.isProjectionRead) lines.push('Redis could not be asked: its projection was not compared.');
  return lines.join('\n');
}
