import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { as, codeOf, openSocialWorld, type SocialWorld } from '../../harness/social.js';

let world: SocialWorld;
beforeAll(async () => {
  world = await openSocialWorld();
  await world.addUsers(...Array.from({ length: 40 }, (_, i) => i + 1));
});
afterAll(() => world.close());

const follow = (from: number, to: number, following = true) => world.social.setFollow(as(from), BigInt(to), following);
const FOLLOWERS = `(follower_count + coalesce((SELECT sum(followers) FROM follower_count_shards WHERE user_id = u.id), 0))::int`;
const userRow = async (id: number) =>
  (
    await world.rows(`SELECT ${FOLLOWERS} AS follower_count, following_count, follow_seq FROM users u WHERE id = $1`, [
      id,
    ])
  )[0]!;
const wrongCounts = () =>
  world.rows(`
    SELECT id FROM users u
    WHERE ${FOLLOWERS} <> (SELECT count(*) FROM follows WHERE followee_id = u.id)
       OR following_count <> (SELECT count(*) FROM follows WHERE follower_id = u.id)`);

it('counts a follow once, however often it is repeated, and draws a seq for it alone', async () => {
  await Promise.all(Array.from({ length: 10 }, () => follow(1, 2)));
  expect(await userRow(1)).toEqual({ follower_count: 0, following_count: 1, follow_seq: '1' });
  expect(await userRow(2)).toEqual({ follower_count: 1, following_count: 0, follow_seq: '0' });
  await Promise.all(Array.from({ length: 10 }, () => follow(1, 2, false)));
  expect(await userRow(1)).toEqual({ follower_count: 0, following_count: 0, follow_seq: '1' });
  await follow(1, 2);
  expect(await world.rows('SELECT follow_seq FROM follows WHERE follower_id = 1')).toEqual([{ follow_seq: '2' }]);
});

it('refuses oneself, unknown people and people across a block, in either direction', async () => {
  expect(await codeOf(follow(3, 3))).toBe('BAD_USER_INPUT');
  expect(await codeOf(follow(3, 9999))).toBe('NOT_FOUND');
  expect(await codeOf(world.social.setBlock(as(3), 3n, true))).toBe('BAD_USER_INPUT');
  expect(await codeOf(world.social.setBlock(as(3), 9999n, true))).toBe('NOT_FOUND');
  await world.social.setBlock(as(3), 4n, true);
  expect(await codeOf(follow(3, 4))).toBe('FORBIDDEN');
  expect(await codeOf(follow(4, 3))).toBe('FORBIDDEN');
  expect(await codeOf(follow(4, 3, false))).toBe('none');
  await world.social.setBlock(as(3), 4n, false);
  expect(await codeOf(follow(4, 3))).toBe('none');
});

it('ends follows in both directions when somebody blocks', async () => {
  await follow(5, 6);
  await follow(6, 5);
  await world.social.setBlock(as(5), 6n, true);
  await world.social.setBlock(as(5), 6n, true);
  expect(await world.rows('SELECT FROM follows WHERE follower_id IN (5, 6)')).toEqual([]);
  expect(await wrongCounts()).toEqual([]);
});

it('makes a row for a viewer who has none', async () => {
  await follow(777, 1);
  expect(await userRow(777)).toMatchObject({ following_count: 1, follow_seq: '1' });
});

it('keeps counts right and never deadlocks while people follow and block each other at random', async () => {
  const random = randomOf(20_260_417);
  const pick = () => 10 + Math.floor(random() * 6);
  const commands = Array.from({ length: 300 }, () => {
    const [from, to] = [pick(), pick()];
    if (from === to) return null;
    const state = random() < 0.7;
    return random() < 0.8 ? follow(from, to, state) : world.social.setBlock(as(from), BigInt(to), random() < 0.3);
  });
  const codes = new Set(await Promise.all(commands.filter((it) => it !== null).map(codeOf)));
  codes.delete('none');
  codes.delete('FORBIDDEN');
  expect([...codes]).toEqual([]);
  expect(await wrongCounts()).toEqual([]);
  expect(
    await world.rows(`SELECT FROM follows f JOIN blocks b ON (b.blocker_id, b.blocked_id) IN
      ((f.follower_id, f.followee_id), (f.followee_id, f.follower_id))`),
  ).toEqual([]);
});

it("draws a reader's seqs in the order of the commits", async () => {
  const seen: bigint[] = [];
  const run = { isDone: false };
  // Whoever saw seq n has seen every follow up to n.
  const watching = (async () => {
    while (!run.isDone) {
      const [row] = await world.rows(
        `SELECT u.follow_seq, (SELECT count(*) FROM follows WHERE follower_id = 30 AND follow_seq <= u.follow_seq) AS n FROM users u WHERE id = 30`,
      );
      expect(row!.n).toBe(row!.follow_seq);
      seen.push(BigInt(row!.follow_seq));
    }
  })();
  await Promise.all(Array.from({ length: 29 }, (_, i) => follow(30, i + 1)));
  run.isDone = true;
  await watching;
  expect(seen).toEqual([...seen].sort((a, b) => Number(a - b)));
  expect((await userRow(30)).follow_seq).toBe('29');
});

it('pages through followers and following in ascending id', async () => {
  await Promise.all(Array.from({ length: 12 }, (_, i) => follow(i + 1, 40)));
  const ids: bigint[] = [];
  let after: string | null = null;
  do {
    const { edges, pageInfo } = await world.social.listFollowerPage(null, 40n, { first: 5, after });
    ids.push(...edges.map((edge) => edge.item));
    after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
  } while (after !== null);
  expect(ids).toEqual(Array.from({ length: 12 }, (_, i) => BigInt(i + 1)));
  const following = await world.social.listFollowingPage(as(1), 30n, { first: 100 });
  expect(following.edges.map((edge) => Number(edge.item))).toEqual(Array.from({ length: 29 }, (_, i) => i + 1));
});

it('leaves out of both lists whoever stands across a block from the viewer, and shows them nothing', async () => {
  await world.addUsers(120, 121, 122, 123, 124, 125, 126, 127, 128);
  const listsFor = async (viewer: number | null) => {
    const who = viewer === null ? null : as(viewer);
    const [followers, following] = [
      await world.social.listFollowerPage(who, 120n, { first: 2 }),
      await world.social.listFollowingPage(who, 120n, { first: 2 }),
    ];
    return [followers, following].map(({ edges, pageInfo }) => [
      edges.map((edge) => Number(edge.item)),
      pageInfo.hasNextPage,
    ]);
  };
  await Promise.all([121, 122, 123].map((id) => follow(id, 120)));
  await Promise.all([124, 125, 126].map((id) => follow(120, id)));
  await world.social.setBlock(as(127), 122n, true);
  await world.social.setBlock(as(125), 127n, true);
  expect(await listsFor(127)).toEqual([
    [[121, 123], false],
    [[124, 126], false],
  ]);
  for (const viewer of [null, 128, 120]) {
    expect(await listsFor(viewer)).toEqual([
      [[121, 122], true],
      [[124, 125], true],
    ]);
  }
  await world.social.setBlock(as(120), 128n, true);
  expect(await listsFor(128)).toEqual([
    [[], false],
    [[], false],
  ]);
});

it('goes on behind a cursor whose follower is gone, for its own viewer and its own list', async () => {
  await Promise.all([31, 32, 33, 34].map((id) => follow(id, 35)));
  const page = await world.social.listFollowerPage(as(1), 35n, { first: 2 });
  const after = page.pageInfo.endCursor;
  await follow(32, 35, false);
  const next = await world.social.listFollowerPage(as(1), 35n, { first: 2, after });
  expect(next.edges.map((edge) => Number(edge.item))).toEqual([33, 34]);
  expect(await codeOf(world.social.listFollowerPage(as(2), 35n, { after }))).toBe('INVALID_CURSOR');
  expect(await codeOf(world.social.listFollowingPage(as(1), 35n, { after }))).toBe('INVALID_CURSOR');
  expect(await codeOf(world.social.listFollowerPage(as(1), 36n, { after }))).toBe('INVALID_CURSOR');
});

/** Mulberry32: the same run every time. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
