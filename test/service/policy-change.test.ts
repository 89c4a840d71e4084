import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createWorld, type World } from '../harness/world.js';

const [READER, AUTHOR] = [1n, 2n];
const as = (userId: bigint) => ({ userId, isAdmin: false });

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

beforeEach(async () => {
  await world.reset([READER, AUTHOR]);
  await world.social.setFollow(as(READER), AUTHOR, true);
  await world.read(READER, { first: 1 });
  await world.drain();
});

async function publish(): Promise<bigint> {
  world.now.ms += 1_000;
  const { contentId } = await world.social.publishContent(as(AUTHOR), { text: 'text' });
  await world.drain();
  return contentId;
}

test.each([
  ['FEED_MODE', 'pull'],
  ['INBOX_STORE', 'postgres'],
])(
  'what was published while %s was %s is in the feed when it is no longer, whatever the old inbox claims',
  async (name, value) => {
    const before = await publish();
    await world.setPolicy({ [name]: value });
    const meanwhile = await publish();
    await world.setPolicy({});
    const after = await publish();
    const { edges } = await world.read(READER, { first: 5 });
    expect(edges.map(({ contentId }) => contentId)).toEqual([after, meanwhile, before]);
  },
);
