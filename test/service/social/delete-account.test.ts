import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { removeAccounts, removeStep } from '../../../src/social/remove-accounts.js';
import { inTransaction } from '../../../src/stores/database.js';
import { findWrongFollowCounts } from '../../../src/stores/follow-count-check.js';
import { ensureUser } from '../../../src/stores/users.js';
import { isFaulty, verifyReader } from '../../../src/verify/verify-reader.js';
import { sampleReaders } from '../../../src/verify/sample-readers.js';
import { createFeed, createInboxStore, createOutboxProjections } from '../../../src/wiring/feed.js';
import { content, follow, startStack, user, walkFeed, idsOf, type Stack } from '../../harness/stack.js';

const T0 = 1_700_000_000_000;
const NEVER = '86400000';

let stack: Stack;
beforeAll(async () => {
  // Nothing is removed in the background but by the test itself.
  stack = await startStack({ REMOVAL_INTERVAL_MS: NEVER, FANOUT_PUSH_THRESHOLD: '2', AUDIT_INTERVAL_MS: '0' });
});
afterAll(() => stack.close());

const DELETE = 'mutation ($id: ID!) { deleteAccount(input: { userId: $id }) { userId } }';
const PUBLISH = 'mutation { publishContent(input: { text: "x" }) { content { id } } }';
const FEED = '{ timelineFeed { edges { node { contentId } } } }';
const feedOf = async (reader: string) => (await walkFeed(stack, reader, 4)).flatMap(idsOf);
const rows = async (sql: string, values: unknown[] = []) =>
  (await stack.app.database.pool.query<Record<string, unknown>>(sql, values)).rows;

const removal = (batchSize = 2) => ({
  pool: stack.app.database.pool,
  inbox: createInboxStore(stack.app),
  outboxes: createOutboxProjections(stack.app),
  batchSize,
});

/** Counters that differ from the relations. */
const wrongCounters = () =>
  rows(`SELECT c.id FROM contents c LEFT JOIN content_counters n ON n.content_id = c.id WHERE c.deleted_at IS NULL AND
    (coalesce(likes, 0), coalesce(comments, 0), coalesce(reposts, 0)) IS DISTINCT FROM (
      (SELECT count(*) FROM reactions WHERE content_id = c.id AND active AND kind = 'LIKE'),
      (SELECT count(*) FROM comments WHERE content_id = c.id AND deleted_at IS NULL),
      (SELECT count(*) FROM contents r WHERE r.repost_of = c.id AND r.deleted_at IS NULL))`);

async function expectRight(...readers: string[]): Promise<void> {
  const feed = createFeed(stack.app, createInboxStore(stack.app), { schedule: () => undefined });
  for (const reader of readers) {
    const verdict = await verifyReader({ ...feed, isObserver: true }, BigInt(reader), { pageSize: 3 });
    expect([reader, isFaulty(verdict)]).toEqual([reader, false]);
  }
}

/** Ten people around X: they follow X and X follows them, and each wrote, liked and commented. X is a big account. */
async function makeCrowd(first: number): Promise<{ x: string; others: string[]; posts: string[]; theirs: string[] }> {
  const x = String(first);
  const others = Array.from({ length: 9 }, (_, i) => String(first + 1 + i));
  const posts = Array.from({ length: 5 }, (_, i) => String(first * 1000 + i));
  const theirs = others.map((id) => String(Number(id) * 1000));
  await stack.importAll(
    [
      ...[x, ...others].map((id) => user(id, { lastActiveAt: Date.now() })),
      ...others.flatMap((id) => [follow(id, x), follow(x, id)]),
      follow(others[0]!, others[1]!),
      ...posts.map((id, i) => content(id, x, T0 + i)),
      ...others.map((id, i) => content(theirs[i]!, id, T0 + 100 + i)),
      content(String(first * 1000 + 500), x, T0 + 200, { repostOf: theirs[2] }),
      content(String(first * 1000 + 501), others[1]!, T0 + 201, { repostOf: posts[0] }),
      ...theirs.map((id) => ({ kind: 'like', user: x, content: id })),
      ...theirs.map((id, i) => ({
        kind: 'comment',
        id: `${id}7`,
        content: id,
        user: x,
        text: 'mine',
        at: T0 + 300 + i,
      })),
      ...others.map((id) => ({ kind: 'like', user: id, content: posts[0] })),
    ],
    { deliver: true },
  );
  await stack.ask(x, 'mutation ($id: ID!) { setBlock(input: { userId: $id, blocked: true }) { user { id } } }', {
    id: others[8],
  });
  for (const id of [x, ...others]) await feedOf(id);
  await drainDelivery();
  return { x, others: others.slice(0, 8), posts, theirs };
}

/** drain() waits for removals too, which here never run by themselves. */
async function drainDelivery(): Promise<void> {
  await removeAccounts(removal(1_000));
  await stack.drain();
}

describe('an account that was deleted', () => {
  let crowd: Awaited<ReturnType<typeof makeCrowd>>;
  beforeAll(async () => {
    crowd = await makeCrowd(100);
    expect(await feedOf(crowd.others[0]!)).toEqual(
      expect.arrayContaining([...crowd.posts, '100500', '100501', crowd.theirs[1]!]),
    );
    expect(await stack.inboxOf(crowd.x)).not.toBeNull();
    await stack.ask(crowd.x, DELETE, { id: crowd.x });
  });

  it('is gone from all feeds at once, its posts with the reposts of them, before anything was removed', async () => {
    const { x, others, posts, theirs } = crowd;
    expect(await rows('SELECT FROM contents WHERE author_id = $1 AND deleted_at IS NULL', [x])).toHaveLength(6);
    expect(await feedOf(others[0]!)).toEqual([theirs[1]]);
    await expectRight(...others);
    const seen = await stack.ask(
      others[0]!,
      'query ($x: ID!, $id: ID!) { user(userId: $x) { handle } byHandle: user(handle: "h100") { handle } content(contentId: $id) { text } }',
      { x, id: posts[0] },
    );
    expect(seen).toEqual({ user: null, byHandle: null, content: null });
    const followers = '{ viewer { followers { edges { node { userId } } } following { edges { node { userId } } } } }';
    const { viewer } = await stack.ask(others[0]!, followers);
    expect(JSON.stringify(viewer)).not.toContain(`"${x}"`);
  });

  it('writes nothing any more and has no feed: its tokens are refused', async () => {
    const { x, others, theirs, posts } = crowd;
    const before = await stack.countAll();
    const other = { id: others[0] };
    const post = { id: theirs[0] };
    const mutations: [string, object][] = [
      [PUBLISH, {}],
      ['mutation ($id: ID!) { deleteContent(input: { contentId: $id }) { contentId } }', { id: posts[0] }],
      [
        'mutation ($id: ID!) { setVisibility(input: { contentId: $id, visibility: PRIVATE }) { content { id } } }',
        { id: posts[0] },
      ],
      ['mutation ($id: ID!) { setFollow(input: { userId: $id, following: true }) { user { id } } }', other],
      ['mutation ($id: ID!) { setBlock(input: { userId: $id, blocked: true }) { user { id } } }', other],
      ['mutation ($id: ID!) { setReaction(input: { contentId: $id, kind: LIKE, active: false }) { active } }', post],
      ['mutation ($id: ID!) { addComment(input: { contentId: $id, text: "x" }) { comment { id } } }', post],
      ['mutation ($id: ID!) { deleteComment(input: { commentId: $id }) { commentId } }', { id: `${theirs[0]}7` }],
      ['mutation { updateProfile(input: { displayName: "back" }) { user { id } } }', {}],
    ];
    for (const [mutation, variables] of mutations) {
      expect([mutation, await stack.codeOf(x, mutation, variables)]).toEqual([mutation, 'UNAUTHENTICATED']);
    }
    expect(await stack.codeOf(x, FEED)).toBe('UNAUTHENTICATED');
    expect(await stack.countAll()).toEqual(before);
  });

  it('cannot be followed or blocked, and its id is not given out again', async () => {
    const { x, others } = crowd;
    for (const name of [
      'setFollow(input: { userId: $id, following: true })',
      'setBlock(input: { userId: $id, blocked: true })',
    ]) {
      expect(await stack.codeOf(others[0]!, `mutation ($id: ID!) { ${name} { user { id } } }`, { id: x })).toBe(
        'NOT_FOUND',
      );
    }
    const lines = [
      user(x, { handle: 'again' }),
      follow(others[0]!, x),
      follow(x, '777'),
      content('999001', x, T0),
      { kind: 'like', user: x, content: crowd.theirs[0] },
      { kind: 'comment', id: '999002', content: crowd.theirs[0], user: x, text: 'again', at: T0 },
    ];
    expect(await stack.importAll(lines)).toMatchObject({ badLines: lines.length });
  });

  it('is removed in small steps that a killed process, a lost Redis and two processes at once do not disturb', async () => {
    const { x, others } = crowd;
    const down = { drop: () => Promise.reject(new Error('redis is down')) };
    const failures: unknown[] = [];
    for (let steps = 0; steps < 2; steps += 1) expect(await removeStep(removal(), BigInt(x))).toBe('more');
    expect(await rows('SELECT FROM contents WHERE author_id = $1 AND deleted_at IS NULL', [x])).toHaveLength(4);
    expect(await removeAccounts({ ...removal(), inbox: down }, (id, error) => failures.push([id, String(error)]))).toBe(
      0,
    );
    expect(failures).toEqual([[BigInt(x), 'Error: redis is down']]);
    expect(await stack.inboxOf(x)).not.toBeNull();
    await Promise.all([removeAccounts(removal()), removeAccounts(removal())]);
    await removeAccounts(removal());

    const left = await rows(
      `SELECT (SELECT count(*) FROM contents WHERE author_id = $1 AND (deleted_at IS NULL OR text <> '')) AS contents,
         (SELECT count(*) FROM comments WHERE user_id = $1 AND (deleted_at IS NULL OR text <> '')) AS comments,
         (SELECT count(*) FROM reactions WHERE user_id = $1) AS reactions,
         (SELECT count(*) FROM follows WHERE $1 IN (follower_id, followee_id)) AS follows,
         (SELECT count(*) FROM blocks WHERE $1 IN (blocker_id, blocked_id)) AS blocks,
         (SELECT count(*) FROM activity WHERE user_id = $1) AS activity,
         (SELECT count(*) FROM follower_count_shards WHERE user_id = $1) AS shards,
         (SELECT count(*) FROM account_removals WHERE finished_at IS NULL) AS removals`,
      [x],
    );
    expect(new Set(Object.values(left[0]!))).toEqual(new Set(['0']));
    expect(
      await rows('SELECT handle, display_name, avatar_url, follower_count, following_count FROM users WHERE id = $1', [
        x,
      ]),
    ).toEqual([
      { handle: 'deleted_100.deleted_100', display_name: '', avatar_url: null, follower_count: 0, following_count: 0 },
    ]);
    // Its handle is free.
    expect(await stack.importAll([user('778', { handle: 'h100' })])).toMatchObject({ badLines: 0 });
    expect(await stack.inboxOf(x)).toBeNull();
    expect(await stack.app.redis.keys(`*:${x}`)).toEqual([]);
    expect((await findWrongFollowCounts(stack.app.database.pool, { after: null, limit: 1_000 })).wrong).toEqual([]);
    expect(await wrongCounters()).toEqual([]);
    await stack.drain();
    await expectRight(...others);
    expect(await stack.codeOf(x, FEED)).toBe('UNAUTHENTICATED');
    expect(await sampleReaders(stack.app.database.pool, 1_000)).not.toContain(BigInt(x));
  });
});

it('is deleted by its owner or an admin alone, and by repeating nothing more happens', async () => {
  await stack.importAll(['201', '202', '203'].map((id) => user(id)));
  const codeAs = async (userId: string, id: string, admin = false) =>
    (await stack.post(DELETE, { id }, await stack.tokenFor(userId, { admin }))).body.errors?.[0]?.extensions.code ??
    'none';
  expect(await codeAs('202', '201')).toBe('FORBIDDEN');
  expect(await codeAs('202', '201', true)).toBe('none');
  expect(await codeAs('201', '201')).toBe('none');
  expect(await codeAs('202', '201', true)).toBe('none');
  expect(await codeAs('202', '98765', true)).toBe('NOT_FOUND');
  expect(await codeAs('202', 'x', true)).toBe('BAD_USER_INPUT');
  expect((await stack.post(DELETE, { id: '203' })).body.errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
  expect(await codeAs('202', '202', true)).toBe('none');
  expect(await codeAs('202', '203', true)).toBe('UNAUTHENTICATED');
  expect(await rows('SELECT id FROM users WHERE deleted_at IS NOT NULL AND id > 200 ORDER BY id')).toEqual([
    { id: '201' },
    { id: '202' },
  ]);
  // Somebody who was never here before is deleted too: the id is taken.
  expect(await codeAs('204', '204')).toBe('none');
  expect(await stack.codeOf('204', PUBLISH)).toBe('UNAUTHENTICATED');
  await drainDelivery();
});

it('is deleted at once whatever is under way, and removed once that has ended', async () => {
  await stack.importAll([user('301')]);
  const { pool } = stack.app.database;
  let removing: Promise<unknown> = Promise.resolve();
  await inTransaction(pool, async (client) => {
    await ensureUser(client, 301n);
    await stack.ask('301', DELETE, { id: '301' });
    expect(await stack.codeOf('301', PUBLISH)).toBe('UNAUTHENTICATED');
    removing = removeAccounts(removal());
    await untilSomeoneWaits();
    await client.query(
      `INSERT INTO comments (id, content_id, user_id, text, created_at) SELECT 301, id, 301, 'just in time', 1 FROM contents LIMIT 1`,
    );
  });
  expect(await removing).toBe(1);
  expect(await rows('SELECT text FROM comments WHERE user_id = 301')).toEqual([{ text: '' }]);
});

async function untilSomeoneWaits(): Promise<void> {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  for (let tries = 0; (await rows(waiting)).length === 0; tries += 1) {
    if (tries > 500) throw new Error('nobody waits for a lock');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

it('is removed by the maintenance of a running deployment', async () => {
  const { x } = await makeCrowd(400);
  await stack.restart({ REMOVAL_INTERVAL_MS: '20' });
  await stack.ask(x, DELETE, { id: x });
  await stack.drain();
  expect(await rows('SELECT FROM contents WHERE author_id = $1 AND deleted_at IS NULL', [x])).toEqual([]);
  expect(await stack.inboxOf(x)).toBeNull();
});
