import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rebuildInbox } from '../../src/fanout/rebuild-inbox.js';
import { createInboxStore } from '../../src/wiring/feed.js';
import { createWorld, type World } from '../harness/world.js';

const [READER, AUTHOR] = [1n, 2n];
const as = (userId: bigint) => ({ userId, isAdmin: false });

let world: World;
beforeAll(async () => {
  world = await createWorld();
  await world.reset([READER, AUTHOR]);
});
afterAll(() => world.close());

test('a post that passes by an inbox which a rebuild is about to begin is pulled by that rebuild', async () => {
  await world.social.setFollow(as(READER), AUTHOR, true);
  // Seen lately, so that no return voids what the inbox will claim.
  await world.read(READER, { first: 1 });
  await world.drain();
  await world.loseInbox(READER);
  const inbox = createInboxStore(world.app);
  let passing = 0n;
  const begin: typeof inbox.begin = async (...args) => {
    passing = (await world.social.publishContent(as(AUTHOR), { text: 'text' })).contentId;
    await world.drain();
    await inbox.begin(...args);
  };
  const deps = { pool: world.app.database.pool, inbox: { ...inbox, begin }, maxEntries: 8 };
  expect(await rebuildInbox(deps, READER)).toBe('filled');
  const { edges } = await world.read(READER, { first: 5 });
  expect(edges.map(({ contentId }) => contentId)).toEqual([passing]);
});
