import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { generateGraph, GROUP_SIZE } from '../../src/stores/generate-graph.js';
import { createTestDatabase } from '../harness/services.js';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createTestDatabase();
  pool = new pg.Pool({ connectionString: database.databaseUrl, max: 2 });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

test('generated people have right counts and seqs, and a second run adds others', async () => {
  const nowMs = 1_750_000_000_000;
  const users = 3 * GROUP_SIZE;
  const first = await generateGraph(pool, { users, bigAccountFollowers: 500, nowMs });
  expect(first).toMatchObject({ bigAccount: 1n, firstGroup: 2n, users });
  const second = await generateGraph(pool, { users: 10, bigAccountFollowers: 9, nowMs });
  expect(second.bigAccount).toBe(BigInt(users + 1));
  const { rows } = await pool.query<Record<string, unknown>>(
    `SELECT count(*)::int AS users, sum(following_count)::int AS follows, max(follower_count) AS most,
       bool_and(follower_count = (SELECT count(*) FROM follows WHERE followee_id = id)) AS followers,
       bool_and(following_count = (SELECT count(*) FROM follows WHERE follower_id = id)) AS following,
       bool_and(follow_seq = coalesce((SELECT max(f.follow_seq) FROM follows f WHERE follower_id = id), 0)) AS seqs,
       (SELECT count(*)::int FROM activity WHERE last_active_at = $1) AS seen,
       count(*) FILTER (WHERE follower_count = 200)::int AS ordinary
     FROM users`,
    [nowMs],
  );
  expect(rows).toEqual([
    {
      users: users + 10,
      follows: first.follows + second.follows,
      most: 500,
      followers: true,
      following: true,
      seqs: true,
      seen: users + 10,
      ordinary: 2,
    },
  ]);
});
