import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { inTransaction } from '../../../src/stores/database.js';
import { failTask, finishTask, saveTaskProgress } from '../../../src/stores/fanout-tasks.js';
import { findFanout, lockFanout, savePlanEnd, savePlannedTask } from '../../../src/stores/fanouts.js';
import { createWorld, type World } from '../../harness/world.js';

const TASKS = 50;
const TARGETS = 2;

let world: World;
beforeAll(async () => {
  world = await createWorld({ DATABASE_POOL_SIZE: '40' });
  await world.reset([1n]);
});
afterAll(() => world.close());

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'tasks finished twice, failed and planned at the same time are counted once, and end their fan-out once (round %i)',
  async (round) => {
    const { pool } = world.app.database;
    const contentId = BigInt(1_000 + round);
    await world.publishAt(1n, { publishTime: world.now.ms, contentId });
    const tasks = Array.from({ length: TASKS }, (_, taskNo) => taskNo);
    const lastOf = (taskNo: number): bigint => BigInt(10 * taskNo + TARGETS - 1);
    const plan = (taskNo: number) => {
      const userIds = [BigInt(10 * taskNo), lastOf(taskNo)];
      return savePlannedTask(pool, { contentId, taskNo, userIds, throughUserId: lastOf(taskNo) });
    };
    const deliver = async (taskNo: number): Promise<boolean> => {
      await saveTaskProgress(pool, { contentId, taskNo, latestUserId: lastOf(taskNo), delivered: TARGETS });
      return finishTask(pool, contentId, taskNo);
    };
    const endPlan = () =>
      inTransaction(pool, async (client) => {
        await lockFanout(client, contentId);
        await savePlanEnd(client, contentId);
      });
    // The last task is planned while the others are finished, as a plan at its bound does it.
    for (const taskNo of tasks.slice(0, -1)) await plan(taskNo);
    const finished = tasks
      .slice(0, -1)
      .flatMap((taskNo) => [
        deliver(taskNo),
        deliver(taskNo),
        taskNo % 5 === 0 ? failTask(pool, contentId, taskNo, 'away').then(() => false) : Promise.resolve(false),
      ]);
    const last = plan(TASKS - 1)
      .then(endPlan)
      .then(() => Promise.all([deliver(TASKS - 1), deliver(TASKS - 1)]));
    const ended = [...(await Promise.all(finished)), ...(await last)].filter(Boolean).length;

    expect(await findFanout(pool, contentId)).toMatchObject({
      state: 'DONE',
      isPlanned: true,
      taskCount: TASKS,
      finishedTaskCount: TASKS,
      failedTaskCount: 0,
      targetCount: TASKS * TARGETS,
      deliveredCount: TASKS * TARGETS,
    });
    const { rows } = await pool.query('SELECT DISTINCT state FROM fanout_tasks WHERE content_id = $1', [contentId]);
    expect(rows).toEqual([{ state: 'DONE' }]);
    expect(ended).toBe(1);
  },
);
