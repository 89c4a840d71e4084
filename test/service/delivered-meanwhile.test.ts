import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createWorld, type World } from '../harness/world.js';

// Page, in-flight list and inbox are read one after the other. What is delivered in between must be in one of them.

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
  await world.social.publishContent(as(AUTHOR), { text: 'an old one' });
  await world.drain();
  await world.read(READER, { first: 1 });
  await world.drain();
});

test.each(['before', 'after'] as const)(
  'a post that was in flight when a read began, and is delivered right %s the inbox is read, is in the page',
  async (moment) => {
    const { contentId } = await world.social.publishContent(as(AUTHOR), { text: 'a new one' });
    await world.relay();
    await world.dispatchOne();
    let reach = (): void => undefined;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    let letGo = (): void => undefined;
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    // A getter tells that the read has come to its gate.
    const reading = world.read(
      READER,
      { first: 2 },
      {
        get [moment]() {
          return (reach(), gate);
        },
      },
    );
    await reached;
    while (await world.executeOne()) continue;
    letGo();
    const { edges } = await reading;
    expect(edges[0]).toMatchObject({ contentId });
    expect(edges).toHaveLength(2);
  },
);
