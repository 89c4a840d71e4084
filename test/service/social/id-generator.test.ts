import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Snowflake } from '../../../src/domain/snowflake.js';
import { createIdGenerator, type IdGenerator } from '../../../src/social/id-generator.js';
import { codeOf, openSocialWorld, type SocialWorld } from '../../harness/social.js';

let world: SocialWorld;
beforeAll(async () => {
  world = await openSocialWorld();
});
beforeEach(() => world.rows('DELETE FROM id_leases'));
afterAll(() => world.close());

const NOW = 1_750_000_000_000;

function createGenerator(clock: () => number = () => NOW, monotonicClock: () => number = () => 0): IdGenerator {
  return createIdGenerator({ pool: world.database.pool, clock, monotonicClock, log: { warn: () => undefined } });
}
const leases = () => world.rows('SELECT worker_id, last_time_ms FROM id_leases ORDER BY worker_id');
const expireAll = () => world.rows(`UPDATE id_leases SET expires_at = now() - interval '1 second'`);
const take = (ids: IdGenerator, count: number): Snowflake[] => Array.from({ length: count }, () => ids.next());

it('takes no lease before an id is wanted, and one for many who want it at once', async () => {
  const ids = createGenerator();
  expect(() => ids.next()).toThrow('No new ids');
  expect(await leases()).toEqual([]);
  await Promise.all(Array.from({ length: 10 }, () => ids.ready()));
  expect(await leases()).toHaveLength(1);
  expect(ids.next().timeMs).toBe(NOW);
  await ids.close();
  expect(await codeOf(ids.ready())).toBe('SERVICE_UNAVAILABLE');
});

it('gives unique ids over four generators whose clocks jump back and forth', async () => {
  const generators = Array.from({ length: 4 }, (_, g) => {
    let calls = 0;
    // Up to 4 s back at every 50th call.
    return createGenerator(() => NOW + (calls += 1) - (calls % 50 === 0 ? 1000 * (g + 1) : 0));
  });
  await Promise.all(generators.map((ids) => ids.ready()));
  const all = generators.map((ids) => take(ids, 5000).map((snowflake) => snowflake.id));
  expect(new Set(all.flat()).size).toBe(20_000);
  for (const ids of all) expect(ids.every((id, i) => i === 0 || id > ids[i - 1]!)).toBe(true);
  await Promise.all(generators.map((ids) => ids.close()));
});

it('hands a worker id over at close, right behind the last millisecond used', async () => {
  const first = createGenerator();
  await first.ready();
  const used = take(first, 5000);
  await first.close();
  const second = createGenerator(() => NOW - 3_600_000);
  await second.ready();
  expect(await leases()).toHaveLength(1);
  expect(second.next().timeMs).toBe(used.at(-1)!.timeMs + 1);
  await second.close();
});

it('starts behind all that a crashed holder may have used, though the clock went back', async () => {
  const crashed = createGenerator();
  await crashed.ready();
  await expireAll();
  const next = createGenerator(() => NOW - 3_600_000);
  await next.ready();
  expect(await leases()).toHaveLength(1);
  const late = take(crashed, 10);
  const fresh = take(next, 10);
  expect(fresh[0]!.timeMs).toBe(NOW + 60_001);
  expect(new Set([...late, ...fresh].map((snowflake) => snowflake.id)).size).toBe(20);
  // Its worker id is somebody else's: it goes on with another one.
  let monotonic = 0;
  const lapsed = createGenerator(
    () => NOW,
    () => monotonic,
  );
  await lapsed.ready();
  monotonic = 60_000;
  await expireAll();
  const taker = [createGenerator(), createGenerator()];
  await Promise.all(taker.map((ids) => ids.ready()));
  expect(() => lapsed.next()).toThrow('No new ids');
  await lapsed.ready();
  expect(await leases()).toHaveLength(3);
  expect(lapsed.next().timeMs).toBe(NOW);
  await Promise.all([crashed, next, lapsed, ...taker].map((ids) => ids.close()));
});

it('refuses ids once its lease has run out, and goes on after a renewal', async () => {
  let monotonic = 0;
  const ids = createGenerator(
    () => NOW,
    () => monotonic,
  );
  await ids.ready();
  monotonic = 59_999;
  const before = ids.next();
  monotonic = 60_000;
  expect(() => ids.next()).toThrow('No new ids');
  await ids.ready();
  expect(ids.next().id).toBeGreaterThan(before.id);
  await ids.close();
});

it('refuses ids when the clock jumps beyond what it has reserved, until it has reserved more', async () => {
  let now = NOW;
  const ids = createGenerator(() => now);
  await ids.ready();
  now += 3_600_000;
  expect(() => ids.next()).toThrow('No new ids');
  await ids.ready();
  expect(ids.next().timeMs).toBe(now);
  expect(await leases()).toMatchObject([{ last_time_ms: String(now + 60_000) }]);
  await ids.close();
});

it('leases a worker id of its own to each of 40 processes that start at once', async () => {
  const generators = Array.from({ length: 40 }, () => createGenerator());
  await Promise.all(generators.map((ids) => ids.ready()));
  expect(await leases()).toHaveLength(40);
  await Promise.all(generators.map((ids) => ids.close()));
  await world.rows(`UPDATE id_leases SET expires_at = now() + interval '1 hour'`);
  await world.rows(
    `INSERT INTO id_leases (worker_id, holder, expires_at) SELECT n, 'x', now() + interval '1 hour' FROM generate_series(0, 1023) n ON CONFLICT DO NOTHING`,
  );
  expect(await codeOf(createGenerator().ready())).toBe('SERVICE_UNAVAILABLE');
});
