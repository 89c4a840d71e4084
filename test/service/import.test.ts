import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { BadLineError, importLines, type ImportOptions } from '../../src/import/import-lines.js';
import { LINE_BYTES_MAX, splitLines } from '../../src/import/split-lines.js';
import { openDatabase, type Database } from '../../src/stores/database.js';
import type { BadLine } from '../../src/stores/import-stage.js';
import { createTestDatabase } from '../harness/services.js';

const NOW = 1_700_000_000_000;
const ID_MAX = '18446744073709551615';

let database: Database;
let drop: () => Promise<void>;

beforeAll(async () => {
  const test = await createTestDatabase();
  drop = () => test.drop();
  database = openDatabase({ url: test.databaseUrl, poolSize: 2, onError: () => undefined });
});
afterAll(async () => {
  await database.close();
  await drop();
});
beforeEach(async () => {
  await database.pool.query(`TRUNCATE users, activity, events CASCADE; UPDATE feed_state SET epoch = 1`);
});

type Line = Record<string, unknown>;

async function importText(text: string | Buffer, options: ImportOptions = {}, now = NOW) {
  const bad: BadLine[] = [];
  const source = splitLines(Readable.from([Buffer.from(text)]));
  const summary = await importLines({ database, clock: () => now }, source, {
    ...options,
    onBadLine: (it) => bad.push(it),
  });
  return { ...summary, bad };
}
const importAll = (lines: readonly Line[], options?: ImportOptions) =>
  importText(lines.map((line) => JSON.stringify(line)).join('\n'), options);

const user = (id: string, more: Line = {}) => ({
  kind: 'user',
  id,
  handle: `h${id}`,
  displayName: `Name ${id}`,
  ...more,
});
const follow = (follower: string, followee: string) => ({ kind: 'follow', follower, followee, at: 1_680_000_000_000 });
const content = (id: string, author: string, more: Line = {}) => ({
  kind: 'content',
  id,
  author,
  publishTime: 1_689_000_000_000,
  text: `Post ${id}`,
  visibility: 'PUBLIC',
  ...more,
});
const like = (userId: string, contentId: string) => ({
  kind: 'like',
  user: userId,
  content: contentId,
  at: 1_690_000_000_000,
});
const comment = (id: string, contentId: string, userId: string) => ({
  kind: 'comment',
  id,
  content: contentId,
  user: userId,
  text: `Comment ${id}`,
  at: 1_690_000_000_000,
});

/** All that an import writes, without the moments of writing. */
async function readDatabase() {
  const read = async (sql: string) => (await database.pool.query({ text: sql, rowMode: 'array' })).rows as unknown[][];
  return {
    users: await read(
      'SELECT id, handle, display_name, avatar_url, follower_count, following_count, follow_seq FROM users ORDER BY id',
    ),
    activity: await read('SELECT * FROM activity ORDER BY user_id'),
    follows: await read('SELECT * FROM follows ORDER BY follower_id, followee_id'),
    contents: await read(
      'SELECT id, author_id, publish_time, text, media, visibility, repost_of FROM contents ORDER BY id',
    ),
    counters: await read(
      'SELECT content_id, likes, comments, reposts, favorites FROM content_counters ORDER BY content_id',
    ),
    reactions: await read('SELECT * FROM reactions ORDER BY content_id, user_id'),
    comments: await read('SELECT * FROM comments ORDER BY id'),
    fanouts: await read(
      'SELECT content_id, author_id, publish_time, state, mode, is_planned, finished_at FROM fanouts ORDER BY content_id',
    ),
    events: await read('SELECT type, author_id, content_id FROM events ORDER BY content_id'),
    epoch: await read('SELECT epoch FROM feed_state'),
  };
}

/** Every stored count beside the relation that it counts; empty when they agree. */
const findWrongCounts = async () =>
  (
    await database.pool.query(`
      SELECT u.id, 'user' AS of FROM users u WHERE follower_count <> (SELECT count(*) FROM follows WHERE followee_id = u.id)
        OR following_count <> (SELECT count(*) FROM follows WHERE follower_id = u.id)
        OR follow_seq < (SELECT coalesce(max(follow_seq), 0) FROM follows WHERE follower_id = u.id)
      UNION ALL
      SELECT c.id, 'content' FROM contents c LEFT JOIN content_counters n ON n.content_id = c.id
      WHERE coalesce(n.likes, 0) <> (SELECT count(*) FROM reactions WHERE content_id = c.id AND kind = 'LIKE' AND active)
        OR coalesce(n.comments, 0) <> (SELECT count(*) FROM comments WHERE content_id = c.id AND deleted_at IS NULL)
        OR coalesce(n.reposts, 0) <> (SELECT count(*) FROM contents WHERE repost_of = c.id)`)
  ).rows;

const SMALL = [
  user('1', { lastActiveAt: NOW }),
  user('2', { avatarUrl: 'https://example.org/2.png' }),
  follow('1', '2'),
  follow('1', '3'),
  follow('2', '1'),
  content('10', '2', { media: [{ url: 'https://example.org/a.png', kind: 'IMAGE', width: 3, altText: 'a\tb\\n"' }] }),
  content('11', '3', { visibility: 'FOLLOWERS', repostOf: '10', text: '' }),
  like('1', '10'),
  like('4', '10'),
  comment('5', '10', '1'),
];

describe('import', () => {
  it('writes users, follows, contents, likes and comments with their counts', async () => {
    const summary = await importAll(SMALL);
    expect(summary.bad).toEqual([]);
    expect(summary.namedUsers).toBe(2);
    const { users, activity, contents, counters, fanouts, events } = await readDatabase();
    expect(users).toEqual([
      ['1', 'h1', 'Name 1', null, 1, 2, '1'],
      ['2', 'h2', 'Name 2', 'https://example.org/2.png', 1, 1, '1'],
      ['3', 'user_3', 'user_3', null, 1, 0, '0'],
      ['4', 'user_4', 'user_4', null, 0, 0, '0'],
    ]);
    expect(activity).toEqual([['1', String(NOW), '1', '1']]);
    expect(contents).toEqual([
      [
        '10',
        '2',
        '1689000000000',
        'Post 10',
        [{ url: 'https://example.org/a.png', kind: 'IMAGE', width: 3, altText: 'a\tb\\n"' }],
        'PUBLIC',
        null,
      ],
      ['11', '3', '1689000000000', '', [], 'FOLLOWERS', '10'],
    ]);
    expect(counters).toEqual([['10', 2, 1, 1, 0]]);
    expect(fanouts.map((row) => row[3])).toEqual(['DONE', 'DONE']);
    expect(events).toEqual([]);
    expect(await findWrongCounts()).toEqual([]);
  });

  it('gives the rows of the worked example', async () => {
    const file = new URL('../fixtures/worked-example.json', import.meta.url);
    const { viewer, following, outboxes, inbox } = JSON.parse(readFileSync(file, 'utf8'));
    const pushed: [string, number][] = inbox;
    const authors: [string, [string, number][]][] = [...Object.entries(outboxes as object), ['222', pushed]];
    const post =
      (author: string) =>
      ([id, seconds]: [string, number]) =>
        content(id, author, { publishTime: new Date(seconds * 1000).toISOString() });
    const lines = authors.flatMap(([author, entries]) => entries.map(post(author)));
    const { badLines } = await importAll([...lines, ...following.map((author: string) => follow(viewer, author))]);
    expect(badLines).toBe(0);
    const { rows } = await database.pool.query(
      'SELECT author_id, id, publish_time / 1000 AS seconds FROM contents ORDER BY author_id, publish_time DESC, id DESC',
    );
    expect(rows.map((row) => [row.author_id, row.id, Number(row.seconds)])).toEqual(
      authors.flatMap(([author, entries]) => entries.map((entry) => [author, ...entry])),
    );
    expect((await readDatabase()).follows.map((row) => row[1])).toEqual(following);
  });

  it('changes nothing when it is repeated', async () => {
    await importAll(SMALL);
    const before = await readDatabase();
    const { kinds, namedUsers, badLines } = await importText(
      SMALL.map((line) => JSON.stringify(line)).join('\r\n'),
      {},
      NOW + 5,
    );
    expect(await readDatabase()).toEqual(before);
    expect([namedUsers, badLines]).toEqual([0, 0]);
    expect(Object.values(kinds).every((counts) => counts.new === 0 && counts.changed === 0)).toBe(true);
    expect(kinds.user.unchanged + kinds.follow.unchanged + kinds.content.unchanged).toBe(7);
  });

  it('makes the same database of any order of lines', async () => {
    const world = [
      ...SMALL,
      content('12', '4', { repostOf: '11' }),
      follow('4', '1'),
      like('2', '12'),
      comment('6', '11', '9'),
      SMALL[0]!,
      SMALL[5]!,
    ];
    await importAll(world);
    const expected = await readDatabase();
    const order = fc.shuffledSubarray(world, { minLength: world.length });
    await fc.assert(
      fc.asyncProperty(order, async (lines) => {
        await database.pool.query(`TRUNCATE users, activity, events CASCADE; UPDATE feed_state SET epoch = 1`);
        await importAll(lines);
        expect(await readDatabase()).toEqual(expected);
      }),
      { numRuns: 10 },
    );
  });

  it('keeps counts equal to relations when files overlap', async () => {
    const ids = ['1', '2', '3', '4', '5'];
    const id = fc.constantFrom(...ids);
    const line = fc.oneof(
      fc.tuple(id, id).map(([a, b]) => follow(a, b)),
      fc.tuple(id, id).map(([c, a]) => content(`${c}${a}`, a)),
      fc.tuple(id, id, id).map(([u, c, a]) => like(u, `${c}${a}`)),
      fc.tuple(id, id, id, id).map(([m, u, c, a]) => comment(`${m}${u}${c}${a}`, `${c}${a}`, u)),
      fc.tuple(id, id, id).map(([c, a, b]) => content(`9${c}${a}`, a, { repostOf: `${b}${a}` })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(line, { maxLength: 30 }), { minLength: 1, maxLength: 3 }), async (files) => {
        for (const file of files) await importAll(file);
        expect(await findWrongCounts()).toEqual([]);
      }),
      { numRuns: 10 },
    );
  });

  it('reports broken lines with their numbers and imports the rest', async () => {
    const lines = [
      JSON.stringify(user('1')),
      '{"kind":"user","id":"2"',
      '',
      '[1]',
      JSON.stringify({ kind: 'friend' }),
      JSON.stringify(user('18446744073709551616')),
      JSON.stringify({ ...user('7'), id: 7 }),
      JSON.stringify(follow('1', '1')),
      JSON.stringify(content('10', '1', { text: '  ' })),
      JSON.stringify(content('10', '1', { text: 'x'.repeat(5001) })),
      JSON.stringify(content('10', '1', { publishTime: 2 ** 48 })),
      JSON.stringify(content('10', '1', { publishTime: '2023-02-30T00:00:00Z' })),
      JSON.stringify(content('10', '1', { visibilty: 'PRIVATE' })),
      JSON.stringify(content('10', '1', { visibility: 'SECRET' })),
      JSON.stringify(content('10', '1', { text: 'nul \0' })),
      JSON.stringify(content('10', '1', { media: [{ url: 'javascript:alert(1)', kind: 'LINK' }] })),
      '{"kind":"content","id":"10","author":"1","publishTime":1,"text":"\\ud800"}',
      JSON.stringify(content('11', '1', { repostOf: '404' })),
      JSON.stringify(content('12', '1', { repostOf: '11' })),
      JSON.stringify(like('55', '404')),
      JSON.stringify(comment('5', '404', '56')),
      JSON.stringify(user('3', { handle: 'h1' })),
      JSON.stringify(user('1', { displayName: 'Other' })),
      JSON.stringify(content('20', '1')),
    ];
    const { bad, badLines } = await importText(lines.join('\n'));
    const reasons = Object.fromEntries(bad.map(({ lineNo, reason }) => [lineNo, reason]));
    expect(Object.keys(reasons).map(Number)).toEqual([2, 4, 5, ...Array.from({ length: 18 }, (_, i) => i + 6)]);
    expect(badLines).toBe(21);
    expect(reasons).toMatchObject({
      2: expect.stringMatching(/^not JSON/),
      4: 'must be a JSON object',
      5: 'kind must be one of user, follow, content, like, comment',
      6: 'id must be an unsigned 64-bit integer in decimal',
      7: 'id must be an id, written as a string',
      8: 'nobody follows themselves',
      9: 'text must have 1 to 5000 characters',
      11: 'publishTime must be epoch milliseconds from 0 to 2^48-1, or RFC 3339',
      13: 'a content has no field "visibilty"',
      18: 'content 404, which it reposts, is not known',
      19: 'content 11, which it reposts, is not known',
      20: 'content 404 is not known',
      22: 'handle h1 belongs to the user of line 1',
      23: 'line 1 says otherwise of user 1',
    });
    const { users, contents } = await readDatabase();
    expect(users.map((row) => row[0])).toEqual(['1']);
    expect(contents.map((row) => row[0])).toEqual(['20']);
  });

  it('reports what is no text and what is too long, and goes on behind it', async () => {
    const text = Buffer.concat([
      Buffer.from('{"kind":"user","id":"1","handle":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n'),
      Buffer.alloc(LINE_BYTES_MAX + 1, 'x'),
      Buffer.from('\n\uFEFF'),
      Buffer.from(JSON.stringify(user('2'))),
    ]);
    const { bad, kinds } = await importText(text);
    expect(bad).toEqual([
      { lineNo: 1, reason: 'not UTF-8' },
      { lineNo: 2, reason: `longer than ${LINE_BYTES_MAX} bytes` },
    ]);
    expect(kinds.user.new).toBe(1);
  });

  it('cuts the same lines whatever the chunks are', async () => {
    const text = Buffer.from('a\n\nbü\r\n  \nc');
    const cut = async (chunks: Buffer[]) => {
      const lines = [];
      for await (const line of splitLines(Readable.from(chunks))) lines.push(line);
      return lines;
    };
    const whole = [
      { lineNo: 1, text: 'a' },
      { lineNo: 3, text: 'bü' },
      { lineNo: 5, text: 'c' },
    ];
    for (let at = 0; at <= text.length; at++) {
      expect(await cut([text.subarray(0, at), text.subarray(at)].filter((chunk) => chunk.length > 0))).toEqual(whole);
    }
  });

  it('changes nothing when it is strict and a line is bad, wherever the fault shows', async () => {
    await importAll(SMALL);
    const before = await readDatabase();
    for (const broken of [{ kind: 'user' }, like('1', '404'), user('77', { handle: 'h2' })]) {
      const attempt = importAll([user('50'), content('51', '50'), broken, user('52')], { strict: true });
      await expect(attempt).rejects.toBeInstanceOf(BadLineError);
      await expect(attempt).rejects.toMatchObject({ bad: { lineNo: 3 } });
    }
    expect(await readDatabase()).toEqual(before);
  });

  it('takes ids up to the greatest and times up to the last millisecond', async () => {
    await importAll([
      content(ID_MAX, ID_MAX, { publishTime: 2 ** 48 - 1 }),
      follow('0', ID_MAX),
      content('0', '0', { publishTime: 0 }),
    ]);
    const { contents, users } = await readDatabase();
    expect(contents.map((row) => row.slice(0, 3))).toEqual([
      ['0', '0', '0'],
      [ID_MAX, ID_MAX, '281474976710655'],
    ]);
    expect(users.map((row) => [row[0], row[1]])).toEqual([
      ['0', 'user_0'],
      [ID_MAX, `user_${ID_MAX}`],
    ]);
  });

  it('replaces a default profile by a user line, and gives nobody a handle that is taken', async () => {
    await importAll([user('8', { handle: 'user_9' }), follow('9', '8')]);
    expect((await readDatabase()).users.map((row) => row.slice(0, 2))).toEqual([
      ['8', 'user_9'],
      ['9', 'user_9.user_9'],
    ]);
    const { kinds, bad } = await importAll([user('9'), user('10', { handle: 'user_9' })]);
    expect(kinds.user).toEqual({ new: 0, changed: 1, unchanged: 0, bad: 1 });
    expect(bad).toEqual([{ lineNo: 2, reason: 'handle user_9 belongs to user 8' }]);
  });

  it('refuses a content whose author or time differs from the one that exists, and leaves deleted ones deleted', async () => {
    await importAll([content('10', '2'), content('11', '2')]);
    await database.pool.query('UPDATE contents SET deleted_at = now() WHERE id = 11');
    const { bad, kinds } = await importAll([content('10', '3'), content('11', '2')]);
    expect(bad).toEqual([{ lineNo: 1, reason: 'content 10 exists with another author or time' }]);
    expect(kinds.content).toEqual({ new: 0, changed: 0, unchanged: 1, bad: 1 });
    const { rows } = await database.pool.query('SELECT id FROM contents WHERE deleted_at IS NOT NULL');
    expect(rows).toEqual([{ id: '11' }]);
  });

  it('draws one fresh seq for all new follows of a reader, above the earlier ones', async () => {
    await importAll([follow('1', '2'), follow('1', '3')]);
    await importAll([follow('1', '2'), follow('1', '4')]);
    const { rows } = await database.pool.query('SELECT followee_id, follow_seq FROM follows ORDER BY followee_id');
    expect(rows.map((row) => row.follow_seq)).toEqual(['1', '1', '2']);
  });

  it('voids the floors of a reader whose mark it moves: pushes may have passed them by', async () => {
    await importAll([user('1', { lastActiveAt: NOW - 90 * 86_400_000 })]);
    await importAll([user('1', { lastActiveAt: NOW })]);
    await importAll([user('1', { lastActiveAt: NOW - 5 })]);
    expect((await readDatabase()).activity).toEqual([['1', String(NOW), '2', '2']]);
  });

  it('starts a new epoch exactly when it shows contents that nothing delivers', async () => {
    const epoch = async () => (await readDatabase()).epoch[0]![0];
    await importAll([user('1'), follow('1', '2')]);
    expect(await epoch()).toBe('1');
    await importAll([content('10', '2')]);
    expect(await epoch()).toBe('2');
    await importAll([content('10', '2'), like('1', '10')]);
    expect(await epoch()).toBe('2');
  });

  it('leaves with --deliver pending fan-outs and their events, oldest first, and the epoch as it is', async () => {
    const listener = await database.pool.connect();
    const heard = new Promise((resolve) => listener.once('notification', resolve));
    await listener.query('LISTEN tideline_events');
    await importAll([content('10', '2', { publishTime: 500 }), content('11', '2', { publishTime: 400 })], {
      deliver: true,
    });
    const { fanouts, events, epoch } = await readDatabase();
    expect(fanouts.map((row) => [row[0], row[3], row[5]])).toEqual([
      ['10', 'PENDING', false],
      ['11', 'PENDING', false],
    ]);
    expect(events).toEqual([
      ['content.published', '2', '10'],
      ['content.published', '2', '11'],
    ]);
    const { rows } = await database.pool.query('SELECT content_id FROM events ORDER BY id');
    expect(rows.map((row) => row.content_id)).toEqual(['11', '10']);
    expect(epoch).toEqual([['1']]);
    expect(await heard).toMatchObject({ channel: 'tideline_events' });
    listener.release(true);
  });
});
