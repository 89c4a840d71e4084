import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Entry } from '../../../src/domain/entry.js';
import { readFeed } from '../../../src/feed/feed.js';
import { oracleFeed } from '../../harness/oracle.js';
import { createWorld, type World } from '../../harness/world.js';

// A content is gone for good (its author's row was deleted, an import began anew), and its id names another one since.

const AUTHOR = 1n;
const READER = 2n;
const ID = 77n;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const as = (userId: bigint) => ({ userId, isAdmin: false });
const now = () => world.now.ms;
const at = (publishTime: number, contentId = ID): Entry => ({ publishTime, contentId });
const forget = (id: bigint) => world.app.database.pool.query('DELETE FROM contents WHERE id = $1', [id]);

/** Page by page, so that what is shown twice or left out at a page's edge is noticed. */
async function walk(size: number): Promise<bigint[]> {
  const walked: bigint[] = [];
  for (let after: string | null = null; ;) {
    const page = await readFeed(world.feed, READER, { first: size, after });
    walked.push(...page.edges.map((edge) => edge.contentId));
    if (!(await page.hasNextPage())) return walked;
    after = page.endCursor;
  }
}
async function expectWhole(): Promise<void> {
  const expected = (await oracleFeed(world.app.database.pool, READER, now())).map((entry) => entry.contentId);
  expect(expected.filter((id) => id === ID)).toHaveLength(1);
  for (const size of [10, 1, 2]) expect(await walk(size)).toEqual(expected);
}

describe.each(['redis-packed', 'redis-zset', 'postgres'])('in %s', (store) => {
  beforeEach(async () => {
    await world.reset([AUTHOR, READER, 3n, 4n]);
    await world.setPolicy({ INBOX_STORE: store });
    await world.social.setFollow(as(READER), AUTHOR, true);
    for (let i = 0; i < 4; i += 1) {
      world.now.ms += 1_000;
      await world.social.publishContent(as(AUTHOR), { text: 'text' });
    }
    await readFeed(world.feed, READER, { first: 10 });
    await world.drain();
  });

  test.each([
    ['an older', -500, -2_500],
    ['a newer', -2_500, -500],
  ])('a content with the id of %s one is shown once, at its own time', async (_, first, second) => {
    await world.publishAt(AUTHOR, at(now() + first));
    await world.drain();
    await expectWhole();
    await forget(ID);
    await world.publishAt(AUTHOR, at(now() + second));
    await expectWhole();
    await world.drain();
    await expectWhole();
    await world.drain();
    await expectWhole();
  });

  test('a task of the first one that runs late does not stand for the second one', async () => {
    await world.publishAt(AUTHOR, at(now() - 500));
    await world.relay();
    await world.dispatchOne();
    await forget(ID);
    await world.publishAt(AUTHOR, at(now() - 2_500));
    await expectWhole();
    await world.drain();
    await expectWhole();
    await world.drain();
    await expectWhole();
  });

  test('nor does the projection of a big account show it twice', async () => {
    for (const follower of [3n, 4n]) await world.social.setFollow(as(follower), AUTHOR, true);
    await world.publishAt(AUTHOR, at(now() - 500));
    await world.drain();
    await world.loseInbox(READER);
    await expectWhole();
    await world.drain();
    await forget(ID);
    await world.publishAt(AUTHOR, at(now() - 2_500));
    await world.drain();
    await world.loseInbox(READER);
    await expectWhole();
  });
});
