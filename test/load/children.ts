import { fork, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import type { ChildTask } from './crowd.js';

const LOADERS = ['./scripts/lib/register-typescript.mjs', './scripts/lib/end-with-parent.mjs'];

/** A process of its own from a TypeScript file, with these settings and no others. */
export function forkScript(
  script: string,
  args: readonly string[],
  { env, stdio = 'inherit' }: { env: Record<string, string>; stdio?: 'inherit' | StdioOptions },
): ChildProcess {
  return fork(script, args, {
    execArgv: LOADERS.flatMap((loader) => ['--import', loader]),
    env: { PATH: process.env['PATH'], ...env },
    ...(stdio === 'inherit' ? {} : { stdio }),
  });
}

/** Tells the child to end, and waits for it. */
export async function stopChild(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}

/** A child at work (crowd.ts): its last report, and how it ended. */
export interface Life<Report> {
  readonly report: Report | undefined;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Follows a child of crowd.ts until it ends. */
export async function followChild<Report>(child: ChildProcess): Promise<Life<Report>> {
  let report: Report | undefined;
  child.on('message', (message) => (report = message as Report));
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return { report, code, signal };
}

/** Reports of `count` children; of those that ended badly there is a line in `crashes`. */
export async function runChildren<Report>(
  script: string,
  count: number,
  { env, crashes, ...task }: Omit<ChildTask, 'index' | 'count'> & { env: Record<string, string>; crashes: string[] },
): Promise<Report[]> {
  const lives = Array.from({ length: count }, async (_, index) => {
    const child = forkScript(script, [JSON.stringify({ ...task, index, count } satisfies ChildTask)], { env });
    const { report, code, signal } = await followChild<Report>(child);
    if (code !== 0) crashes.push(`${script} ended early: ${code ?? String(signal)}`);
    return report ? [report] : [];
  });
  return (await Promise.all(lives)).flat();
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** Reports of one kind as one: the sum of each number. */
export function sumUp(reports: readonly object[]): Record<string, number> {
  const totals: Record<string, number> = {};
  for (const report of reports) {
    for (const [name, value] of Object.entries(report)) {
      if (typeof value === 'number') totals[name] = (totals[name] ?? 0) + value;
    }
  }
  return totals;
}
