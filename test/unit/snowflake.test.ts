import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ID_MAX } from '../../src/domain/ids.js';
import { nextSnowflake, SNOWFLAKE_EPOCH_MS, startAfter, WORKER_ID_MAX } from '../../src/domain/snowflake.js';

const NOW = 1_750_000_000_000;
const anyWorker = fc.integer({ min: 0, max: WORKER_ID_MAX });
/** A clock that goes on, stands still and jumps back. */
const anyClock = fc.array(fc.integer({ min: -5_000, max: 5_000 }), { minLength: 1, maxLength: 300 });

function draw(startMs: number, times: readonly number[], workerId: number) {
  let state = startAfter(startMs);
  return times.map((nowMs) => {
    const [snowflake, next] = nextSnowflake(state, nowMs, workerId);
    state = next;
    return snowflake;
  });
}

it('gives ids that only grow, whatever the clock does, with the time inside them', () => {
  fc.assert(
    fc.property(anyClock, anyWorker, (steps, workerId) => {
      const drawn = draw(
        0,
        steps.map((step) => NOW + step),
        workerId,
      );
      drawn.forEach(({ id, timeMs }, i) => {
        if (i > 0) expect(id > drawn[i - 1]!.id).toBe(true);
        expect(Number(id >> 22n) + SNOWFLAKE_EPOCH_MS).toBe(timeMs);
        expect(Number((id >> 12n) & 1023n)).toBe(workerId);
        expect(timeMs).toBeGreaterThanOrEqual(NOW + steps[i]!);
      });
    }),
  );
});

it('counts on into the next millisecond when 4,096 ids were used in one', () => {
  const drawn = draw(0, Array<number>(10_000).fill(NOW), 7);
  expect(new Set(drawn.map(({ id }) => id)).size).toBe(10_000);
  expect([drawn[4095]!.timeMs, drawn[4096]!.timeMs, drawn[9999]!.timeMs]).toEqual([NOW, NOW + 1, NOW + 2]);
});

it('starts behind what another holder of the worker id may have used', () => {
  fc.assert(
    fc.property(fc.integer({ min: -100_000, max: 100_000 }), anyClock, (ahead, steps) => {
      const drawn = draw(
        NOW + ahead,
        steps.map((step) => NOW + step),
        1,
      );
      for (const { timeMs } of drawn) expect(timeMs).toBeGreaterThan(NOW + ahead);
    }),
  );
});

it('gives no id that is not an unsigned 64-bit integer, also on a clock before 2020 or in 2089', () => {
  for (const nowMs of [0, -1, SNOWFLAKE_EPOCH_MS - 1, SNOWFLAKE_EPOCH_MS, Date.UTC(2089, 0)]) {
    const { id } = draw(0, [nowMs], WORKER_ID_MAX)[0]!;
    expect(id >= 0n && id <= ID_MAX).toBe(true);
  }
});
