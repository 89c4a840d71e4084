import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { findWrongFollowCounts, repairFollowCounts } from '../../../src/stores/follow-count-check.js';
import { inTransaction } from '../../../src/stores/database.js';
import { readAuthor } from '../../../src/stores/fanouts.js';
import { addFollow } from '../../../src/stores/follows.js';
import { lockUsers, readUserCounts } from '../../../src/stores/users.js';
import { as, codeOf, openSocialWorld, type SocialWorld } from '../../harness/social.js';

const BIG = 1n;
const MANY = Array.from({ length: 60 }, (_, i) => 100 + i);

let world: SocialWorld;
beforeAll(async () => {
  world = await openSocialWorld();
  await world.addUsers(1, 2, 3, 4, ...MANY);
});
afterAll(() => world.close());

const follow = (from: number, to: bigint, following = true) => world.social.setFollow(as(from), to, following);
const followersOf = async (id: bigint) => (await readUserCounts(world.database.pool, [id])).get(id)?.followers;
const findWrong = async () =>
  (await findWrongFollowCounts(world.database.pool, { after: null, limit: 1_000 })).wrong.map(({ userId }) => userId);

it('lets others follow an account, and it follow others, while a follow of it is not yet committed', async () => {
  await follow(2, BIG);
  await inTransaction(world.database.pool, async (client) => {
    await lockUsers(client, [3n]);
    await addFollow(client, 3n, BIG);
    // None of these waits: with a lock that they needed they would never end, as this transaction waits for them.
    for (const id of MANY.slice(0, 20)) await follow(id, BIG);
    await follow(2, BIG, false);
    await follow(1, 4n);
    expect(await followersOf(BIG)).toBe(20);
  });
  expect(await followersOf(BIG)).toBe(21);
  expect(await findWrong()).toEqual([]);
});

it('counts exactly while many follow and unfollow one account at once, for the policy of its posts too', async () => {
  const codes = await Promise.all(
    MANY.flatMap((id, i) => [follow(id, BIG), follow(id, BIG), ...(i % 3 === 0 ? [follow(id, BIG, false)] : [])]).map(
      codeOf,
    ),
  );
  expect(new Set(codes)).toEqual(new Set(['none']));
  const [{ n }] = (await world.rows('SELECT count(*)::int AS n FROM follows WHERE followee_id = 1')) as [{ n: number }];
  expect([await followersOf(BIG), (await readAuthor(world.database.pool, BIG)).followerCount]).toEqual([n, n]);
  expect(await findWrong()).toEqual([]);
});

it('finds counts that differ from the follows, and repairs them while others go on following', async () => {
  const { pool } = world.database;
  await world.rows(
    'UPDATE follower_count_shards SET followers = followers + 7 WHERE user_id = 1 AND shard = (SELECT min(shard) FROM follower_count_shards WHERE user_id = 1)',
  );
  await world.rows('UPDATE users SET following_count = 9 WHERE id = 103');
  expect(await findWrong()).toEqual([1n, 103n]);
  const page = await findWrongFollowCounts(pool, { after: 1n, limit: 2 });
  expect(page).toEqual({ wrong: [], through: 3n });
  await Promise.all([
    ...MANY.map((id, i) => follow(id, BIG, i % 2 === 0)),
    ...[BIG, 103n, BIG].map((id) => repairFollowCounts(pool, id)),
  ]);
  expect(await findWrong()).toEqual([]);
});

it('never deadlocks when two people follow each other', async () => {
  const rounds = Array.from({ length: 40 }, (_, i) => [follow(2, 3n, i % 2 === 0), follow(3, 2n, i % 2 === 0)]).flat();
  expect(new Set(await Promise.all(rounds.map(codeOf)))).toEqual(new Set(['none']));
  expect(await findWrong()).toEqual([]);
});
