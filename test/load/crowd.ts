import { setTimeout as pause } from 'node:timers/promises';
import { openApp, type App } from '../../src/app.js';
import { readEnvironment } from '../../src/config.js';
import { isOutage } from './outages.js';

/** What the parent tells a child, as the one argument of its process. */
export interface ChildTask {
  /** This child's number among `count` of its kind. */
  readonly index: number;
  readonly count: number;
  readonly seconds: number;
  /**
   * A thing (a content, a follow) is changed at most once in twice this time, and reads that took longer than this are not
   * judged. So the oracle before or after it has seen each thing as the read has seen it.
   */
  readonly quietMs: number;
  /** Stores may be away at any time: what fails for that is counted, and done again or left. */
  readonly expectsOutages: boolean;
}

/** Users, the most popular first. */
export interface Crowd {
  readonly ids: readonly bigint[];
  /** Popular ones more often: the first hundredth makes a tenth of all draws. */
  draw(): bigint;
  /** Of those that belong to this child alone. */
  drawOwn(): bigint;
}

/**
 * The life of a child: stores, crowd, `step` until its time is over or its parent sends a message, with a report to the
 * parent now and then and at the end. A child that fails ends with an exit code, which its parent counts as a fault.
 */
export async function runChild(
  start: (app: App, crowd: Crowd, task: ChildTask) => Promise<() => Promise<void>>,
  report: { outages: number },
): Promise<void> {
  process.once('disconnect', () => process.exit(1));
  const task = JSON.parse(process.argv[2] ?? '') as ChildTask;
  let end = Date.now() + 1_000 * task.seconds;
  process.once('message', () => (end = 0));
  const bearOutages = async <T>(work: () => Promise<T>): Promise<T | null> =>
    work().catch(async (error: unknown) => {
      if (!task.expectsOutages || !isOutage(error)) throw error;
      report.outages += 1;
      await pause(OUTAGE_PAUSE_MS);
      return null;
    });
  let opened = await bearOutages(() => open(start, task));
  while (!opened && Date.now() < end) opened = await bearOutages(() => open(start, task));
  if (opened) {
    for (let reportAt = 0; Date.now() < end;) {
      await bearOutages(opened.step);
      if (Date.now() < reportAt) continue;
      reportAt = Date.now() + REPORT_MS;
      process.send?.(report);
    }
    await opened.app.close();
  }
  process.send?.(report, () => process.exit(0));
}

/** A child that is killed has told at least this lately how it fares. */
const REPORT_MS = 200;
const OUTAGE_PAUSE_MS = 50;

async function open(start: Parameters<typeof runChild>[0], task: ChildTask) {
  const app = await openApp(readEnvironment(), { name: 'load' });
  try {
    return { app, step: await start(app, await readCrowd(app, task), task) };
  } catch (error) {
    await app.close();
    throw error;
  }
}

async function readCrowd({ database }: App, { index, count }: ChildTask): Promise<Crowd> {
  const { rows } = await database.pool.query<{ id: string }>('SELECT id FROM users ORDER BY follower_count DESC, id');
  const ids = rows.map((row) => BigInt(row.id));
  const drawIndex = (): number => Math.floor(Math.random() ** 2 * ids.length);
  return {
    ids,
    draw: () => ids[drawIndex()] as bigint,
    drawOwn: () => ids[Math.min(ids.length - 1, Math.floor(drawIndex() / count) * count + index)] as bigint,
  };
}
