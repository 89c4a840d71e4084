import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { FROM_NEWEST, reconcileCounters } from '../../../src/social/reconcile-counters.js';
import { NO_COUNTS } from '../../../src/stores/counters.js';
import { openCounterWorld, type CounterWorld } from '../../harness/counters.js';
import { as } from '../../harness/social.js';

let world: CounterWorld;
let contentId: bigint;
beforeAll(async () => {
  world = await openCounterWorld();
  await world.addUsers(1, 30);
});
afterAll(() => world.close());
beforeEach(async () => {
  const [social] = world.socials;
  contentId = (await social.publishContent(as(1), { text: 'post' })).contentId;
  for (const user of [2, 3, 4]) await social.setReaction(as(user), { contentId, kind: 'LIKE', active: true });
  await social.setReaction(as(2), { contentId, kind: 'FAVORITE', active: true });
  await social.addComment(as(2), { contentId, text: 'first' });
  await social.publishContent(as(3), { text: 'quote', repostOf: contentId });
  await world.drain();
});

const TRUE_COUNTS = { likes: 3, comments: 1, reposts: 1, favorites: 1 };

const reconcile = async (isRepairing = true) =>
  reconcileCounters(
    { pool: world.pool, projection: world.projection },
    { before: FROM_NEWEST, limit: 1_000, isRepairing },
  );

it('finds nothing where everything adds up, and says how many contents it compared', async () => {
  const { rows } = await world.pool.query<{ n: string }>('SELECT count(*) AS n FROM contents');
  expect(await reconcile()).toEqual({ contents: Number(rows[0]!.n), differences: [], projected: [], next: null });
});

it('reports each count that is not what its relations say, sets it right, and the projection follows', async () => {
  await world.pool.query('UPDATE content_counters SET likes = 9, reposts = 0 WHERE content_id = $1', [contentId]);
  await world.pool.query('DELETE FROM comments WHERE content_id = $1', [contentId]);
  const wanted = [
    { contentId, counter: 'likes', stored: 9, counted: 3 },
    { contentId, counter: 'comments', stored: 1, counted: 0 },
    { contentId, counter: 'reposts', stored: 0, counted: 1 },
  ];
  expect((await reconcile(false)).differences).toEqual(wanted);
  expect((await reconcile()).differences).toEqual(wanted);
  expect((await reconcile()).differences).toEqual([]);
  expect(await world.countsOf(contentId)).toMatchObject({ ...TRUE_COUNTS, comments: 0 });
  await world.drain();
  expect(await world.projectedOf(contentId)).toMatchObject({ ...TRUE_COUNTS, comments: 0 });
});

it('never shows less than nothing, and sets that right too', async () => {
  await world.pool.query('INSERT INTO content_counter_shards (content_id, likes, version) VALUES ($1, -5, 1)', [
    contentId,
  ]);
  expect(await world.countsOf(contentId)).toMatchObject({ likes: 0 });
  await world.drain();
  expect((await reconcile()).differences).toEqual([{ contentId, counter: 'likes', stored: -2, counted: 3 }]);
  await world.drain();
  expect(await world.countsOf(contentId)).toMatchObject(TRUE_COUNTS);
});

it('finds projections that show something else, and lets the next reader read them anew', async () => {
  const counts = (await world.countsOf(contentId))!;
  const [other] = await publishMore(1);
  await world.projection.save(new Map([[other!, { ...NO_COUNTS, version: 99n }]]));
  // As after a change of which the projection was never told.
  await world.projection.forget([contentId]);
  await world.projection.save(new Map([[contentId, { ...counts, likes: 2, version: counts.version - 1n }]]));
  expect((await reconcile(false)).projected).toEqual([other, contentId]);
  expect((await reconcile()).projected).toEqual([other, contentId]);
  expect(await world.projectedOf(contentId)).toBeUndefined();
  expect((await reconcile()).projected).toEqual([]);
});

it('takes a change that waits for the projection for no difference', async () => {
  await world.socials[1].setReaction(as(7), { contentId, kind: 'LIKE', active: true });
  expect((await reconcile()).projected).toEqual([]);
});

it('walks through all contents in parts', async () => {
  const ids = await publishMore(5);
  for (const id of ids) {
    await world.pool.query('INSERT INTO content_counters (content_id, likes) VALUES ($1, 1)', [id]);
  }
  const found: bigint[] = [];
  for (let before: bigint | null = FROM_NEWEST; before !== null;) {
    const deps = { pool: world.pool, projection: world.projection };
    const part = await reconcileCounters(deps, { before, limit: 2, isRepairing: true });
    found.push(...part.differences.map((difference) => difference.contentId));
    before = part.next;
  }
  expect(found).toEqual([...ids].reverse());
});

it('finds and changes nothing while people like and comment, however often it runs', async () => {
  const state = { isOver: false };
  const liking = Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const social = world.socials[i % 2]!;
      for (let round = 0; round < 10; round += 1) {
        await social.setReaction(as(5 + i), { contentId, kind: 'LIKE', active: round % 3 !== 0 });
        if (round % 4 === 0) await social.addComment(as(5 + i), { contentId, text: 'on' });
      }
    }),
  ).finally(() => (state.isOver = true));
  let runs = 0;
  while (!state.isOver) {
    const [one, two] = await Promise.all([reconcile(), reconcile()]);
    expect([...one.differences, ...two.differences]).toEqual([]);
    runs += 1;
  }
  await liking;
  expect(runs).toBeGreaterThan(1);
  await world.drain();
  expect(await world.countsOf(contentId)).toMatchObject(await world.relationsOf(contentId));
});

async function publishMore(count: number): Promise<bigint[]> {
  const ids: bigint[] = [];
  for (let i = 0; i < count; i += 1) {
    ids.push((await world.socials[0].publishContent(as(1), { text: 'more' })).contentId);
  }
  return ids;
}
