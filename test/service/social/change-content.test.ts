import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { as, codeOf, openSocialWorld, type SocialWorld } from '../../harness/social.js';

let world: SocialWorld;
beforeAll(async () => {
  world = await openSocialWorld();
  await world.addUsers(1, 2, 3, 4);
});
afterAll(() => world.close());

const publish = async (userId: number, more: object = {}) =>
  (await world.social.publishContent(as(userId), { text: 'post', ...more })).contentId;
const typesOf = async (contentId: bigint) =>
  (await world.rows('SELECT type FROM events WHERE content_id = $1 ORDER BY id', [contentId])).map((row) => row.type);
const sees = async (userId: number | null, contentId: bigint) =>
  (await world.social.findVisibleContents(userId === null ? null : as(userId), [contentId])).has(contentId);

it('lets only the author delete, and repeats without a second event', async () => {
  const contentId = await publish(1);
  expect(await codeOf(world.social.deleteContent(as(2), contentId))).toBe('FORBIDDEN');
  expect(await codeOf(world.social.deleteContent(as(1), 7n))).toBe('NOT_FOUND');
  await Promise.all(Array.from({ length: 5 }, () => world.social.deleteContent(as(1), contentId)));
  expect(await typesOf(contentId)).toEqual(['content.published', 'content.deleted']);
  expect(world.changedContents).toContain(contentId);
  expect(await sees(1, contentId)).toBe(false);
});

it('lets only the author change the visibility, of what stands, and writes an event for each real change', async () => {
  const contentId = await publish(1);
  expect(await codeOf(world.social.setVisibility(as(2), contentId, 'PRIVATE'))).toBe('FORBIDDEN');
  await world.social.setVisibility(as(1), contentId, 'PUBLIC');
  expect(await typesOf(contentId)).toEqual(['content.published']);
  await world.social.setVisibility(as(1), contentId, 'PRIVATE');
  expect(await typesOf(contentId)).toEqual(['content.published', 'content.visibility_changed']);
  expect([await sees(1, contentId), await sees(2, contentId)]).toEqual([true, false]);
  await world.social.deleteContent(as(1), contentId);
  expect(await codeOf(world.social.setVisibility(as(1), contentId, 'PUBLIC'))).toBe('NOT_FOUND');
});

it('shows a content to whom its visibility, the follows and the blocks of now let in', async () => {
  const open = await publish(1);
  const forFollowers = await publish(1, { visibility: 'FOLLOWERS' });
  await world.social.setFollow(as(2), 1n, true);
  expect(await Promise.all([null, 1, 2, 3].map((user) => sees(user, open)))).toEqual([true, true, true, true]);
  expect(await Promise.all([null, 1, 2, 3].map((user) => sees(user, forFollowers)))).toEqual([
    false,
    true,
    true,
    false,
  ]);
  await world.social.setBlock(as(3), 1n, true);
  await world.social.setBlock(as(1), 2n, true);
  expect(await Promise.all([null, 1, 2, 3].map((user) => sees(user, open)))).toEqual([true, true, false, false]);
  await world.social.setBlock(as(3), 1n, false);
  await world.social.setBlock(as(1), 2n, false);
  expect(await sees(2, open)).toBe(true);
  expect(await sees(2, forFollowers)).toBe(false);
});

it('hides what is dated in the future from all but its author', async () => {
  await world.rows(`INSERT INTO contents (id, author_id, publish_time, text) VALUES (50, 1, $1, 'soon')`, [
    Date.now() + 60_000,
  ]);
  expect([await sees(1, 50n), await sees(2, 50n)]).toEqual([true, false]);
});

it('hides a repost while its original, or the original of that, is hidden; its author keeps seeing it', async () => {
  const original = await publish(1);
  const quote = await publish(2, { repostOf: original });
  const quoteOfQuote = await publish(3, { repostOf: quote });
  expect(await sees(4, quoteOfQuote)).toBe(true);
  await world.social.setBlock(as(1), 4n, true);
  expect([await sees(4, quote), await sees(4, quoteOfQuote)]).toEqual([false, false]);
  await world.social.setBlock(as(1), 4n, false);
  await world.social.deleteContent(as(1), original);
  expect([await sees(4, quote), await sees(4, quoteOfQuote), await sees(2, quote)]).toEqual([false, false, true]);
});

it('survives reposts that refer to each other', async () => {
  await world.rows(
    `INSERT INTO contents (id, author_id, publish_time, text, repost_of) VALUES (60, 1, 1, '', 61), (61, 1, 1, '', 60), (62, 1, 1, '', 999)`,
  );
  expect(await Promise.all([60n, 61n, 62n].map((id) => sees(2, id)))).toEqual([false, false, false]);
});

it('pages through an outbox as the viewer may see it, without gaps at equal times', async () => {
  const time = Date.now() - 1000;
  await world.rows(
    `INSERT INTO contents (id, author_id, publish_time, text, visibility)
     SELECT 1000 + i, 4, $1, 'post', CASE i % 3 WHEN 0 THEN 'PUBLIC' WHEN 1 THEN 'FOLLOWERS' ELSE 'PRIVATE' END::visibility
     FROM generate_series(0, 29) i`,
    [time],
  );
  const readAll = async (userId: number, first: number) => {
    const ids: number[] = [];
    let after: string | null = null;
    for (let page = 0; page < 30; page += 1) {
      const { edges, pageInfo } = await world.social.listOutboxPage(as(userId), 4n, { first, after });
      ids.push(...edges.map((edge) => Number(edge.item.contentId)));
      expect(pageInfo.hasPreviousPage).toBe(page > 0);
      if (!pageInfo.hasNextPage) return ids;
      expect(edges).toHaveLength(first);
      after = pageInfo.endCursor;
    }
    throw new Error('the outbox has no end');
  };
  const descending = (remainders: number[]) =>
    Array.from({ length: 30 }, (_, i) => 29 - i)
      .filter((i) => remainders.includes(i % 3))
      .map((i) => 1000 + i);
  expect(await readAll(4, 7)).toEqual(descending([0, 1, 2]));
  expect(await readAll(1, 3)).toEqual(descending([0]));
  await world.social.setFollow(as(1), 4n, true);
  expect(await readAll(1, 20)).toEqual(descending([0, 1]));
  await world.social.setBlock(as(1), 4n, true);
  expect(await readAll(1, 20)).toEqual([]);
  await world.social.setBlock(as(1), 4n, false);
});

it('refuses cursors of another viewer, another list or another hand', async () => {
  const page = await world.social.listOutboxPage(as(2), 4n, { first: 2 });
  const after = page.pageInfo.endCursor!;
  expect(await codeOf(world.social.listOutboxPage(as(2), 4n, { after }))).toBe('none');
  expect(await codeOf(world.social.listOutboxPage(as(3), 4n, { after }))).toBe('INVALID_CURSOR');
  expect(await codeOf(world.social.listOutboxPage(as(2), 1n, { after }))).toBe('INVALID_CURSOR');
  expect(await codeOf(world.social.listFollowerPage(as(2), 4n, { after }))).toBe('INVALID_CURSOR');
  expect(await codeOf(world.social.listCommentPage(as(2), 4n, { after: 'x' }))).toBe('INVALID_CURSOR');
  expect(await codeOf(world.social.listOutboxPage(as(2), 4n, { first: 101 }))).toBe('BAD_USER_INPUT');
  expect(await codeOf(world.social.listOutboxPage(as(2), 4n, { first: -1 }))).toBe('BAD_USER_INPUT');
});

it('knows the first page by its items: a cursor whose item is gone has nothing before it', async () => {
  const [newest] = [await publish(3)];
  const { pageInfo } = await world.social.listOutboxPage(as(3), 3n, { first: 1 });
  expect((await world.social.listOutboxPage(as(3), 3n, { after: pageInfo.endCursor })).pageInfo.hasPreviousPage).toBe(
    true,
  );
  await world.social.deleteContent(as(3), newest);
  expect((await world.social.listOutboxPage(as(3), 3n, { after: pageInfo.endCursor })).pageInfo.hasPreviousPage).toBe(
    false,
  );
  const none = await world.social.listOutboxPage(as(3), 3n, { first: 0 });
  expect(none).toMatchObject({ edges: [], pageInfo: { hasNextPage: true, startCursor: null } });
});
