import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { as, codeOf, openSocialWorld, type SocialWorld } from '../../harness/social.js';

let world: SocialWorld;
let nextUser = 1000n;
const newUser = (): bigint => (nextUser += 1n);

beforeAll(async () => {
  world = await openSocialWorld();
});
afterAll(() => world.close());

const publish = (userId: bigint, text: string, more: object = {}) =>
  world.social.publishContent(as(userId), { text, ...more });
const countRows = async (table: string, column: string, id: bigint) =>
  Number((await world.rows(`SELECT count(*) AS n FROM ${table} WHERE ${column} = $1`, [id]))[0]!.n);
const repostsOf = async (id: bigint) =>
  (await world.rows('SELECT reposts FROM content_counters WHERE content_id = $1', [id]))[0]?.reposts ?? 0;

it('writes the content, its event and its place in flight together', async () => {
  const author = newUser();
  const { contentId, publishTime } = await publish(author, '  hello  ', {
    media: [{ url: 'https://example.org/a.png', kind: 'IMAGE', width: 3, height: null, altText: 'a' }],
  });
  expect(await world.rows('SELECT * FROM contents WHERE id = $1', [contentId])).toMatchObject([
    {
      author_id: author.toString(),
      text: 'hello',
      publish_time: publishTime.toString(),
      visibility: 'PUBLIC',
      media: [{ url: 'https://example.org/a.png', kind: 'IMAGE', width: 3, altText: 'a' }],
    },
  ]);
  expect(await world.rows('SELECT type, author_id, relayed_at FROM events WHERE content_id = $1', [contentId])).toEqual(
    [{ type: 'content.published', author_id: author.toString(), relayed_at: null }],
  );
  expect(
    await world.rows('SELECT state, author_id, publish_time FROM fanouts WHERE content_id = $1', [contentId]),
  ).toEqual([{ state: 'PENDING', author_id: author.toString(), publish_time: publishTime.toString() }]);
});

it('makes a row with a default handle for a viewer who has none, also where the handle is taken', async () => {
  const [first, second] = [newUser(), newUser()];
  await world.rows(`INSERT INTO users (id, handle, display_name) VALUES ($1, $2, 'Thief')`, [
    newUser(),
    `user_${second}`,
  ]);
  await publish(first, 'hi');
  await publish(second, 'hi');
  expect(await world.rows('SELECT handle FROM users WHERE id = ANY($1) ORDER BY id', [[first, second]])).toEqual([
    { handle: `user_${first}` },
    { handle: `user_${second}.user_${second}` },
  ]);
});

it('publishes once under one idempotency key, also when called 20 times at once', async () => {
  const author = newUser();
  const all = await Promise.all(Array.from({ length: 20 }, () => publish(author, 'once', { idempotencyKey: 'k' })));
  expect(new Set(all.map((content) => content.contentId)).size).toBe(1);
  expect(await publish(author, 'another text', { idempotencyKey: 'k' })).toEqual(all[0]);
  for (const table of ['contents', 'events', 'fanouts']) expect(await countRows(table, 'author_id', author)).toBe(1);
  expect((await publish(newUser(), 'of another author', { idempotencyKey: 'k' })).contentId).not.toBe(
    all[0]!.contentId,
  );
});

it('never brings a deleted content back, whatever key it had', async () => {
  const author = newUser();
  const { contentId } = await publish(author, 'gone', { idempotencyKey: 'k' });
  await world.social.deleteContent(as(author), contentId);
  expect((await publish(author, 'gone', { idempotencyKey: 'k' })).contentId).toBe(contentId);
  expect((await world.social.findVisibleContents(as(author), [contentId])).size).toBe(0);
});

it('gives the events of one author ids in the order of their commits', async () => {
  const author = newUser();
  const seen: bigint[] = [];
  const run = { isDone: false };
  // A relay that reads what is committed must never find an event below one that it has seen.
  const watching = (async () => {
    while (!run.isDone) {
      const events = await world.rows('SELECT id FROM events WHERE author_id = $1 AND id > $2 ORDER BY id', [
        author,
        seen.at(-1) ?? 0n,
      ]);
      seen.push(...events.map((event) => BigInt(event.id)));
    }
  })();
  const own: bigint[] = [];
  await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      const { contentId } = await publish(author, `post ${i}`);
      own.push(contentId);
      if (i % 3 === 0) await world.social.setVisibility(as(author), contentId, 'PRIVATE');
      if (i % 4 === 0) await world.social.deleteContent(as(author), contentId);
    }),
  );
  run.isDone = true;
  await watching;
  const all = await world.rows('SELECT id, content_id, type FROM events WHERE author_id = $1 ORDER BY id', [author]);
  expect(all).toHaveLength(60 + 20 + 15);
  const missed = all.map((event) => BigInt(event.id)).filter((id) => id <= (seen.at(-1) ?? 0n) && !seen.includes(id));
  expect(missed).toEqual([]);
  // Published in the order of their times, as the id is drawn under the author's lock too.
  const published = all.filter((event) => event.type === 'content.published').map((event) => BigInt(event.content_id));
  expect(published).toEqual([...published].sort((a, b) => (a < b ? -1 : 1)));
});

it.each([
  ['empty text', { text: ' \n ' }],
  ['5,001 characters', { text: 'x'.repeat(5001) }],
  ['U+0000', { text: 'a\0b' }],
  ['11 media', { text: '', media: Array(11).fill({ url: 'https://example.org/', kind: 'LINK' }) }],
  ['a script URL', { text: '', media: [{ url: 'javascript:alert(1)', kind: 'LINK' }] }],
  ['a URL with a space', { text: '', media: [{ url: 'https://example.org/a b', kind: 'LINK' }] }],
  ['a relative URL', { text: '', media: [{ url: '/a.png', kind: 'IMAGE' }] }],
  ['a width of 0', { text: '', media: [{ url: 'https://example.org/', kind: 'IMAGE', width: 0 }] }],
  ['an empty idempotency key', { text: 'x', idempotencyKey: '' }],
  ['a long idempotency key', { text: 'x', idempotencyKey: 'k'.repeat(201) }],
] as const)('refuses %s and writes nothing', async (_, input) => {
  const author = newUser();
  expect(await codeOf(world.social.publishContent(as(author), input))).toBe('BAD_USER_INPUT');
  expect(await countRows('users', 'id', author)).toBe(0);
});

it('counts characters as code points', async () => {
  await publish(newUser(), '🌊'.repeat(5000));
  expect(await codeOf(publish(newUser(), '🌊'.repeat(5001)))).toBe('BAD_USER_INPUT');
});

it('reposts what the viewer may see, counts it on the original and counts down when the repost goes', async () => {
  const [author, fan, stranger, blocked] = [newUser(), newUser(), newUser(), newUser()];
  const open = await publish(author, 'open');
  const forFollowers = await publish(author, 'followers', { visibility: 'FOLLOWERS' });
  const secret = await publish(author, 'secret', { visibility: 'PRIVATE' });
  await world.social.setFollow(as(fan), author, true);
  await world.addUsers(blocked);
  await world.social.setBlock(as(author), blocked, true);
  const tryRepost = (userId: bigint, contentId: bigint) => codeOf(publish(userId, '', { repostOf: contentId }));
  expect(await tryRepost(stranger, open.contentId)).toBe('none');
  expect(await tryRepost(blocked, open.contentId)).toBe('NOT_FOUND');
  expect(await tryRepost(fan, forFollowers.contentId)).toBe('none');
  expect(await tryRepost(stranger, forFollowers.contentId)).toBe('NOT_FOUND');
  expect(await tryRepost(fan, secret.contentId)).toBe('NOT_FOUND');
  expect(await tryRepost(author, secret.contentId)).toBe('none');
  expect(await tryRepost(fan, 1n)).toBe('NOT_FOUND');
  expect(await repostsOf(open.contentId)).toBe(1);

  const pure = await publish(fan, '', { repostOf: open.contentId });
  const ofPure = await publish(stranger, 'look', { repostOf: pure.contentId });
  expect(await world.rows('SELECT repost_of FROM contents WHERE id = $1', [ofPure.contentId])).toEqual([
    { repost_of: open.contentId.toString() },
  ]);
  expect(await repostsOf(open.contentId)).toBe(3);
  await Promise.all([1, 2, 3].map(() => world.social.deleteContent(as(fan), pure.contentId)));
  expect(await repostsOf(open.contentId)).toBe(2);
  await world.social.deleteContent(as(author), open.contentId);
  expect(await tryRepost(fan, open.contentId)).toBe('NOT_FOUND');
});
