import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { oracleFeed } from '../harness/oracle.js';
import { createWorld, type World } from '../harness/world.js';

// The inbox keeps 8 entries, the projection of a big account 4; an author who was followed lately is in neither.

const [READER, ORDINARY, BIG, LATELY] = [1n, 2n, 3n, 4n];
const FANS = [5n, 6n];
const POSTS = 15;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const as = (userId: bigint) => ({ userId, isAdmin: false });

beforeEach(async () => {
  await world.reset([READER, ORDINARY, BIG, LATELY, ...FANS]);
  for (const fan of [READER, ...FANS]) await world.social.setFollow(as(fan), BIG, true);
  await world.social.setFollow(as(READER), ORDINARY, true);
  await world.read(READER, { first: 1 });
  await world.drain();
  // Each source in a stretch of its own and all of them in turns: one ends where another goes on.
  for (const authors of [[LATELY], [BIG], [ORDINARY], [ORDINARY, BIG, LATELY]]) {
    for (let i = 0; i < POSTS; i += 1) {
      world.now.ms += 1_000;
      await world.social.publishContent(as(authors[i % authors.length] as bigint), { text: 'text' });
    }
    await world.drain();
  }
});

test.each([1, 3, 50])(
  'sources of different depth: a walk by %i never passes the known end of the shallowest one unseen',
  async (first) => {
    await world.social.setFollow(as(READER), LATELY, true);
    const expected = await oracleFeed(world.app.database.pool, READER, world.now.ms);
    expect(expected).toHaveLength(4 * POSTS);
    const walked: bigint[] = [];
    for (let after: string | null = null, goesOn = true; goesOn;) {
      const page = await world.read(READER, { first, after });
      walked.push(...page.edges.map(({ contentId }) => contentId));
      after = page.endCursor;
      goesOn = await page.hasNextPage();
    }
    expect(walked).toEqual(expected.map(({ contentId }) => contentId));
  },
);
