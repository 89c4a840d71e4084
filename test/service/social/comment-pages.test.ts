import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { COMMENT_INDEX_MAX } from '../../../src/stores/comment-index.js';
import { addToCounters } from '../../../src/stores/counters.js';
import { openCounterWorld, type CounterWorld } from '../../harness/counters.js';
import { as } from '../../harness/social.js';

let world: CounterWorld;
let contentId: bigint;
let nextOldId = 1n;
beforeAll(async () => {
  world = await openCounterWorld();
  await world.addUsers(1, 9);
});
afterAll(() => world.close());
beforeEach(async () => {
  contentId = (await world.socials[0].publishContent(as(1), { text: 'post' })).contentId;
});

const comment = async (userId: number, text = 'c') =>
  (await world.socials[userId % 2]!.addComment(as(userId), { contentId, text })).commentId;
const remove = (commentId: bigint) => world.socials[0].deleteComment(as(1), commentId);
const likersOf = async (viewer: number | null) =>
  (await world.socials[0].listLikerPage(viewer === null ? null : as(viewer), contentId, {})).edges.map(
    ({ item }) => item.userId,
  );

async function readPage(args: { first?: number; after?: string | null; viewer?: number | null } = {}) {
  const { first = 5, after = null, viewer = 3 } = args;
  const page = await world.socials[0].listCommentPage(viewer === null ? null : as(viewer), contentId, { first, after });
  await world.settle();
  return page;
}
const idsOf = (page: Awaited<ReturnType<typeof readPage>>): bigint[] => page.edges.map(({ item }) => item.commentId);

/** The whole list; `onPage` happens between two pages. */
async function walk(first: number, onPage: (pageNo: number) => Promise<unknown> = () => Promise.resolve()) {
  const shown: bigint[] = [];
  // Bounded by the number of comments.
  for (let after: string | null = null, pageNo = 0; ; pageNo += 1) {
    const page = await readPage({ first, after });
    shown.push(...idsOf(page));
    if (!page.pageInfo.hasNextPage) return shown;
    after = page.pageInfo.endCursor;
    await onPage(pageNo);
  }
}

/** Comments of long ago, four at each millisecond, as an import brings them. Newest first. */
async function insertComments(count: number): Promise<bigint[]> {
  const firstId = nextOldId;
  nextOldId += BigInt(count);
  await world.pool.query(
    `INSERT INTO comments (id, content_id, user_id, text, created_at)
     SELECT $2::numeric + i, $1, 2, 'c', 1000 + i / 4 FROM generate_series(0, $3::int - 1) i`,
    [contentId, firstId, count],
  );
  await addToCounters(world.pool, [{ contentId, comments: count }]);
  return Array.from({ length: count }, (_, i) => firstId + BigInt(count - 1 - i));
}

it('shows each comment that stands exactly once on a walk through 10,000 while others are added and deleted', async () => {
  const old = await insertComments(10_000);
  const deleted = new Set<bigint>();
  const shown = await walk(100, async (pageNo) => {
    const added = await comment(2 + (pageNo % 7));
    if (pageNo % 3 === 0) await remove(added);
    // One that was shown, and some that were not yet: they go before the walk comes there.
    for (const id of [old[pageNo * 100 + 1]!, old[(pageNo + 1) * 100 + 7]!, old[10_000 - 1 - pageNo * 3]!]) {
      await remove(id);
      deleted.add(id);
    }
  });
  expect(new Set(shown).size).toBe(shown.length);
  const isShown = new Set(shown);
  expect(old.filter((id) => !deleted.has(id) && !isShown.has(id))).toEqual([]);
  expect(shown).toEqual(old.filter((id) => isShown.has(id)));
  const { comments } = await world.relationsOf(contentId);
  expect(await world.countsOf(contentId)).toMatchObject({ comments });
});

it('indexes the newest comments in the order of the pages, ties included', async () => {
  const old = await insertComments(COMMENT_INDEX_MAX + 50);
  await readPage();
  const index = await world.commentIndex.read(contentId, null, 1_000);
  expect(index?.places.map(({ commentId }) => commentId)).toEqual(old.slice(0, COMMENT_INDEX_MAX));
  expect(index?.isWhole).toBe(false);
  // From the index, across its end, and behind it.
  expect(await walk(40)).toEqual(old);
});

it('takes the order of a page from the index, and never from one that is out of date', async () => {
  const [one, two, three] = [await comment(2), await comment(4), await comment(5)];
  expect(idsOf(await readPage())).toEqual([three, two, one]);
  const indexed = (await world.commentIndex.read(contentId, null, 10))!;
  // An index that lies shows that it is what is read; its version is of now.
  await world.commentIndex.save(contentId, { ...indexed, places: indexed.places.slice(1) });
  expect(idsOf(await readPage())).toEqual([two, one]);
  const four = await comment(6);
  expect(idsOf(await readPage())).toEqual([four, three, two, one]);
  expect((await world.commentIndex.read(contentId, null, 10))?.places).toHaveLength(4);
  await remove(three);
  expect(idsOf(await readPage())).toEqual([four, two, one]);
  await world.redisClient.flushall();
  expect(idsOf(await readPage())).toEqual([four, two, one]);
});

it('reads pages without Redis, and indexes again when it is back', async () => {
  const one = await comment(2);
  await readPage();
  await world.redis.kill();
  const two = await comment(4);
  expect(idsOf(await readPage())).toEqual([two, one]);
  await world.redis.restart(true);
  for (let tries = 0; tries < 400 && world.redisClient.status !== 'ready'; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  expect(idsOf(await readPage())).toEqual([two, one]);
  expect((await world.commentIndex.read(contentId, null, 10))?.places).toHaveLength(2);
});

it('keeps comments and likes of two who block each other from each other, and from nobody else', async () => {
  const [social] = world.socials;
  const [ofFour, ofFive, ofSix] = [await comment(4), await comment(5), await comment(6)];
  for (const user of [4, 5, 6]) await social.setReaction(as(user), { contentId, kind: 'LIKE', active: true });
  await readPage();
  await social.setBlock(as(4), 5n, true);
  const all = [ofSix, ofFive, ofFour];
  expect(idsOf(await readPage({ viewer: 4 }))).toEqual([ofSix, ofFour]);
  expect(idsOf(await readPage({ viewer: 5 }))).toEqual([ofSix, ofFive]);
  expect(idsOf(await readPage({ viewer: 6 }))).toEqual(all);
  expect(idsOf(await readPage({ viewer: null }))).toEqual(all);
  // A page is filled with further ones.
  const page = await readPage({ viewer: 4, first: 1 });
  expect(page.pageInfo.hasNextPage).toBe(true);
  const rest = await readPage({ viewer: 4, first: 1, after: page.pageInfo.endCursor });
  expect([...idsOf(page), ...idsOf(rest)]).toEqual([ofSix, ofFour]);
  expect(rest.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
  expect(await likersOf(4)).toEqual([6n, 4n]);
  expect(await likersOf(5)).toEqual([6n, 5n]);
  expect(await likersOf(null)).toEqual([6n, 5n, 4n]);
  expect([...(await social.findComments(as(5), all)).keys()].sort()).toEqual([ofFive, ofSix]);
  await social.setBlock(as(4), 5n, false);
  expect(idsOf(await readPage({ viewer: 5 }))).toEqual(all);
  expect(await likersOf(5)).toEqual([6n, 5n, 4n]);
});

it('shows no comment of a content that is hidden or gone', async () => {
  const [social] = world.socials;
  const commentId = await comment(2);
  await social.setVisibility(as(1), contentId, 'PRIVATE');
  expect((await social.findComments(as(2), [commentId])).size).toBe(0);
  expect((await social.findComments(as(1), [commentId])).size).toBe(1);
  await social.deleteContent(as(1), contentId);
  expect((await social.findComments(as(1), [commentId])).size).toBe(0);
});
