import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { NO_COUNTS, readCounts } from '../../../src/stores/counters.js';
import { as, codeOf, openSocialWorld, type SocialWorld } from '../../harness/social.js';

let world: SocialWorld;
beforeAll(async () => {
  world = await openSocialWorld();
  await world.addUsers(1, 2, 3);
});
afterAll(() => world.close());

const publish = async (more: object = {}) =>
  (await world.social.publishContent(as(1), { text: 'post', ...more })).contentId;
const react = (
  userId: number,
  contentId: bigint,
  active: boolean,
  version?: number,
  kind: 'LIKE' | 'FAVORITE' = 'LIKE',
) => world.social.setReaction(as(userId), { contentId, kind, active, version });
const countersOf = async (contentId: bigint) => {
  const { likes, comments, favorites } =
    (await readCounts(world.database.pool, [contentId])).get(contentId) ?? NO_COUNTS;
  return { likes, comments, favorites };
};

it('counts a repeated like once, also when it comes 10 times at once', async () => {
  const contentId = await publish();
  await Promise.all(Array.from({ length: 10 }, () => react(2, contentId, true)));
  await react(3, contentId, true);
  await react(2, contentId, true, undefined, 'FAVORITE');
  expect(await countersOf(contentId)).toEqual({ likes: 2, comments: 0, favorites: 1 });
  await Promise.all(Array.from({ length: 10 }, () => react(2, contentId, false)));
  expect(await countersOf(contentId)).toEqual({ likes: 1, comments: 0, favorites: 1 });
});

it('lets a lower version change nothing and answers with what stands', async () => {
  const contentId = await publish();
  expect(await react(2, contentId, true, 5)).toEqual({ active: true, version: 5 });
  expect(await react(2, contentId, false, 4)).toEqual({ active: true, version: 5 });
  expect(await countersOf(contentId)).toMatchObject({ likes: 1 });
  expect(await react(2, contentId, false, 6)).toEqual({ active: false, version: 6 });
  expect(await react(2, contentId, true)).toEqual({ active: true, version: 7 });
  expect(await react(2, contentId, true, 2 ** 31 - 1)).toEqual({ active: true, version: 2 ** 31 - 1 });
  expect(await react(2, contentId, false)).toEqual({ active: false, version: 2 ** 31 - 1 });
  expect(await codeOf(react(2, contentId, true, -1))).toBe('BAD_USER_INPUT');
});

it('ends at the highest version, whatever order the requests arrive in', async () => {
  const contentId = await publish();
  await Promise.all([3, 1, 9, 4, 7, 2, 8].map((version) => react(3, contentId, version % 2 === 0, version)));
  expect(await world.rows('SELECT active, version FROM reactions WHERE content_id = $1', [contentId])).toEqual([
    { active: false, version: 9 },
  ]);
  expect((await countersOf(contentId)).likes).toBe(0);
});

it('answers NOT_FOUND to reactions and comments on what the viewer may not see', async () => {
  const contentId = await publish({ visibility: 'PRIVATE' });
  expect(await codeOf(react(2, contentId, true))).toBe('NOT_FOUND');
  expect(await codeOf(world.social.addComment(as(2), { contentId, text: 'x' }))).toBe('NOT_FOUND');
  expect(await codeOf(react(1, contentId, true))).toBe('none');
  expect(await codeOf(react(2, 12n, true))).toBe('NOT_FOUND');
});

it('lists the most recent likers first, and a repeated like does not move its liker', async () => {
  const contentId = await publish();
  for (const user of [1, 2, 3]) await react(user, contentId, true);
  await react(1, contentId, true);
  const first = await world.social.listLikerPage(as(2), contentId, { first: 2 });
  expect(first.edges.map((edge) => edge.item.userId)).toEqual([3n, 2n]);
  const rest = await world.social.listLikerPage(as(2), contentId, { first: 2, after: first.pageInfo.endCursor });
  expect(rest.edges.map((edge) => edge.item.userId)).toEqual([1n]);
  expect(rest.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
});

it('adds one comment under one key, also when called 20 times at once', async () => {
  const contentId = await publish();
  const input = { contentId, text: ' nice ', idempotencyKey: 'c' };
  const all = await Promise.all(Array.from({ length: 20 }, () => world.social.addComment(as(2), input)));
  expect(new Set(all.map((comment) => comment.commentId)).size).toBe(1);
  expect(all[0]).toMatchObject({ text: 'nice', userId: 2n, contentId });
  expect(await countersOf(contentId)).toMatchObject({ comments: 1 });
});

it('lets the writer of a comment and the author of the content delete it, once', async () => {
  const contentId = await publish();
  const add = async (text: string) => (await world.social.addComment(as(2), { contentId, text })).commentId;
  const [own, moderated, kept] = [await add('one'), await add('two'), await add('three')];
  expect(await codeOf(world.social.deleteComment(as(3), own))).toBe('FORBIDDEN');
  expect(await codeOf(world.social.deleteComment(as(2), 5n))).toBe('NOT_FOUND');
  await Promise.all([1, 2, 3].map(() => world.social.deleteComment(as(2), own)));
  await world.social.deleteComment(as(1), moderated);
  expect(await countersOf(contentId)).toMatchObject({ comments: 1 });
  const page = await world.social.listCommentPage(as(3), contentId, {});
  expect(page.edges.map((edge) => edge.item.commentId)).toEqual([kept]);
  expect([...(await world.social.findComments(as(3), [own, kept])).keys()]).toEqual([kept]);
});

it('pages through comments newest first, without gaps at equal times', async () => {
  const contentId = await publish();
  await world.rows(
    `INSERT INTO comments (id, content_id, user_id, text, created_at) SELECT i, $1, 2, 'c', 1000 + i / 4 FROM generate_series(1, 22) i`,
    [contentId],
  );
  const ids: bigint[] = [];
  let after: string | null = null;
  do {
    const { edges, pageInfo } = await world.social.listCommentPage(as(3), contentId, { first: 5, after });
    ids.push(...edges.map((edge) => edge.item.commentId));
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  } while (after !== null);
  expect(ids).toEqual(Array.from({ length: 22 }, (_, i) => BigInt(22 - i)));
});

it.each([' ', 'x'.repeat(2001)])('refuses a comment of %j', async (text) => {
  expect(await codeOf(world.social.addComment(as(2), { contentId: await publish(), text }))).toBe('BAD_USER_INPUT');
});
