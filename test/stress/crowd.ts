import { openApp, type App } from '../../src/app.js';
import { readEnvironment } from '../../src/config.js';

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
 * The life of a child: stores, crowd, `step` until its time is over, then its report to the parent. A child that fails
 * ends with an exit code, which its parent counts as a fault.
 */
export async function runChild(
  start: (app: App, crowd: Crowd, task: ChildTask) => Promise<() => Promise<void>>,
  report: object,
): Promise<void> {
  process.once('disconnect', () => process.exit(1));
  const task = JSON.parse(process.argv[2] ?? '') as ChildTask;
  const app = await openApp(readEnvironment(), { name: 'stress' });
  const step = await start(app, await readCrowd(app, task), task);
  for (const end = Date.now() + 1_000 * task.seconds; Date.now() < end;) await step();
  await app.close();
  process.send?.(report, () => process.exit(0));
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
