import { createHmac, generateKeyPairSync } from 'node:crypto';
import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { content, follow, readPage, startStack, user, walkFeed, type Stack } from '../harness/stack.js';
import { postGraphql, writeTempFile } from '../harness/tiny-subgraphs.js';

const VIEWER = '1';
const AUTHOR = '2';
const OTHER = '3';
const ID_MAX = '18446744073709551615';
const T0 = 1_700_000_000_000;

let stack: Stack;
let cursor: string;
let foreignCursor: string;

beforeAll(async () => {
  stack = await startStack();
  await stack.importAll([
    ...[VIEWER, AUTHOR, OTHER].map((id) => user(id)),
    follow(VIEWER, AUTHOR),
    follow(OTHER, AUTHOR),
    ...Array.from({ length: 8 }, (_, i) => content(String(100 + i), AUTHOR, T0 + i)),
    content('200', VIEWER, T0),
  ]);
  cursor = (await readPage(stack, VIEWER, { first: 4 })).pageInfo.endCursor!;
  foreignCursor = (await readPage(stack, OTHER, { first: 4 })).pageInfo.endCursor!;
  await stack.drain();
});
afterAll(() => stack.close());

/** Runs requests, each of which must end with this code, and compares the tables and the feed before and after. */
async function expectNothingChanged(run: () => Promise<void>): Promise<void> {
  const read = async () => ({ rows: await stack.countAll(), feed: await walkFeed(stack, VIEWER, 3) });
  const before = await read();
  await run();
  await stack.drain();
  expect(await read()).toEqual(before);
}

const FEED = `query ($first: Int, $after: String, $last: Int, $before: String) {
  timelineFeed(first: $first, after: $after, last: $last, before: $before) { edges { cursor } } }`;
const NEWER = 'query ($than: String!, $limit: Int) { timelineNewer(than: $than, limit: $limit) { count } }';
const PUBLISH = 'mutation ($input: PublishContentInput!) { publishContent(input: $input) { content { contentId } } }';
const DELETE = 'mutation ($id: ID!) { deleteContent(input: { contentId: $id }) { contentId } }';
const HIDE = 'mutation ($id: ID!) { setVisibility(input: { contentId: $id, visibility: PRIVATE }) { content { id } } }';
const REPOST =
  'mutation ($id: ID!) { publishContent(input: { text: "", repostOfContentId: $id }) { content { contentId } } }';
const FOLLOW = 'mutation ($id: ID!) { setFollow(input: { userId: $id, following: true }) { user { userId } } }';
const BLOCK = 'mutation ($id: ID!) { setBlock(input: { userId: $id, blocked: true }) { user { userId } } }';
const LIKE = 'mutation ($id: ID!) { setReaction(input: { contentId: $id, kind: LIKE, active: true }) { active } }';
const COMMENT = 'mutation ($id: ID!) { addComment(input: { contentId: $id, text: "so it is" }) { comment { id } } }';
const UNCOMMENT = 'mutation ($id: ID!) { deleteComment(input: { commentId: $id }) { commentId } }';
const FANOUT = 'query ($id: ID!) { fanout(contentId: $id) { state } }';

const flipBit = (text: string, byte: number): string => {
  const bytes = Buffer.from(text, 'base64url');
  bytes.writeUInt8(bytes.readUInt8(byte) ^ 1, byte);
  return bytes.toString('base64url');
};

describe('cursors', () => {
  const bad: [string, () => string][] = [
    ['empty', () => ''],
    ['no base64url', () => '*** not a cursor ***'],
    ['truncated', () => cursor.slice(0, -2)],
    ['cut to nothing but its version', () => cursor.slice(0, 2)],
    ['longer than it was', () => `${cursor}AA`],
    ['padded', () => `${cursor}=`],
    ['of another viewer', () => foreignCursor],
    ['signed with another key', () => signCursor('somebody else')],
    ['10,000 characters long', () => 'A'.repeat(10_000)],
  ];

  test.each(bad)('a cursor that is %s is INVALID_CURSOR everywhere and changes nothing', async (_, make) => {
    await expectNothingChanged(async () => {
      expect(await stack.codeOf(VIEWER, FEED, { first: 3, after: make() })).toBe('INVALID_CURSOR');
      expect(await stack.codeOf(VIEWER, FEED, { last: 3, before: make() })).toBe('INVALID_CURSOR');
      expect(await stack.codeOf(VIEWER, NEWER, { than: make() })).toBe('INVALID_CURSOR');
    });
  });

  test('a cursor altered in any one byte is INVALID_CURSOR: neither place, position nor viewer can be edited', async () => {
    const { length } = Buffer.from(cursor, 'base64url');
    const codes = await Promise.all(
      Array.from({ length }, (_, i) => stack.codeOf(VIEWER, FEED, { first: 3, after: flipBit(cursor, i) })),
    );
    expect(new Set(codes)).toEqual(new Set(['INVALID_CURSOR']));
    expect(await stack.codeOf(VIEWER, FEED, { first: 3, after: cursor })).toBe('none');
  });

  /** The body of a good cursor under a MAC of another key, made as src/domain/cursor.ts makes it. */
  function signCursor(key: string): string {
    const body = Buffer.from(cursor, 'base64url').subarray(0, 19);
    return Buffer.concat([
      body,
      createHmac('sha256', key).update(body).update(VIEWER).digest().subarray(0, 12),
    ]).toString('base64url');
  }
});

describe('arguments', () => {
  test.each([
    ['first: -1', { first: -1 }],
    ['first: 101', { first: 101 }],
    ['first with last', { first: 3, last: 3 }],
    ['before with first', { first: 3, before: 'CURSOR' }],
    ['after with last', { last: 3, after: 'CURSOR' }],
    ['after with before', { after: 'CURSOR', before: 'CURSOR' }],
    ['last: -1', { last: -1, before: 'CURSOR' }],
    ['last: 101', { last: 101, before: 'CURSOR' }],
    ['last without before', { last: 3 }],
  ])('timelineFeed with %s is BAD_USER_INPUT and changes nothing', async (_, args) => {
    const filled = Object.fromEntries(Object.entries(args).map(([k, v]) => [k, v === 'CURSOR' ? cursor : v]));
    await expectNothingChanged(async () => {
      expect(await stack.codeOf(VIEWER, FEED, filled)).toBe('BAD_USER_INPUT');
    });
  });

  test.each([-1, 101])('timelineNewer with limit %d is BAD_USER_INPUT', async (limit) => {
    expect(await stack.codeOf(VIEWER, NEWER, { than: cursor, limit })).toBe('BAD_USER_INPUT');
  });

  test.each([0, 1, 100])('a size of %d is within bounds', async (size) => {
    expect(await stack.codeOf(VIEWER, FEED, { first: size })).toBe('none');
    expect(await stack.codeOf(VIEWER, NEWER, { than: cursor, limit: size })).toBe('none');
  });

  test.each([
    ['empty', ''],
    ['of spaces', ' \n\t '],
    ['of 5,001 characters', 'a'.repeat(5_001)],
    ['of 5,001 emoji', '🌊'.repeat(5_001)],
    ['with U+0000', 'a\0b'],
  ])('a text %s is BAD_USER_INPUT and publishes nothing', async (_, text) => {
    await expectNothingChanged(async () => {
      expect(await stack.codeOf(VIEWER, PUBLISH, { input: { text } })).toBe('BAD_USER_INPUT');
    });
  });

  test('a text of 5,000 emoji is published as it is', async () => {
    const text = '🌊'.repeat(5_000);
    const query = 'mutation ($input: PublishContentInput!) { publishContent(input: $input) { content { text } } }';
    expect((await stack.ask('4', query, { input: { text } })).publishContent.content.text).toBe(text);
  });
});

describe('what there is not, or what is not yours', () => {
  test.each([
    ['deleting', DELETE],
    ['hiding', HIDE],
    ['reposting', REPOST],
    ['liking', LIKE],
    ['commenting', COMMENT],
    ['deleting a comment of', UNCOMMENT],
    ['following', FOLLOW],
    ['blocking', BLOCK],
  ])('%s an unknown id is NOT_FOUND and changes nothing', async (_, query) => {
    await expectNothingChanged(async () => {
      expect(await stack.codeOf(VIEWER, query, { id: '404' })).toBe('NOT_FOUND');
    });
  });

  test('an unknown content reads as null', async () => {
    expect(
      await stack.ask(VIEWER, '{ content(contentId: "404") { text } fanout(contentId: "404") { state } }'),
    ).toEqual({
      content: null,
      fanout: null,
    });
  });

  test.each([
    ['deleting', DELETE],
    ['hiding', HIDE],
    ['asking how far delivery is of', FANOUT],
  ])("%s somebody else's post is FORBIDDEN and changes nothing", async (_, query) => {
    await expectNothingChanged(async () => {
      expect(await stack.codeOf(VIEWER, query, { id: '100' })).toBe('FORBIDDEN');
    });
  });

  test.each([
    ['following', FOLLOW],
    ['blocking', BLOCK],
  ])('%s oneself is BAD_USER_INPUT and changes nothing', async (_, query) => {
    await expectNothingChanged(async () => {
      expect(await stack.codeOf(VIEWER, query, { id: VIEWER })).toBe('BAD_USER_INPUT');
    });
  });
});

describe('identity', () => {
  const OPERATIONS: [string, object][] = [
    [FEED, { first: 3 }],
    [NEWER, { than: 'AAAA' }],
    [FANOUT, { id: '200' }],
    [PUBLISH, { input: { text: 'by nobody' } }],
    ...[DELETE, HIDE, REPOST, LIKE, COMMENT, UNCOMMENT].map((query): [string, object] => [query, { id: '200' }]),
    ...[FOLLOW, BLOCK].map((query): [string, object] => [query, { id: OTHER }]),
  ];

  test('without a token timelines and commands are UNAUTHENTICATED and change nothing; public reads work', async () => {
    await expectNothingChanged(async () => {
      for (const [query, variables] of OPERATIONS) {
        const { body } = await stack.post(query, variables);
        expect([query, body.errors?.[0]?.extensions.code]).toEqual([query, 'UNAUTHENTICATED']);
      }
    });
    const { body } = await stack.post('{ viewer { userId } content(contentId: "100") { text viewerHasLiked } }');
    expect(body).toEqual({ data: { viewer: null, content: { text: 'Post 100', viewerHasLiked: null } } });
  });

  const claims = (alg: string, expiresIn: string | number = '1h') =>
    new SignJWT({}).setProtectedHeader({ alg }).setSubject(VIEWER).setIssuedAt().setExpirationTime(expiresIn);
  const secret = () => new TextEncoder().encode(stack.app.config.AUTH_JWT_SECRET);
  const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

  test.each<[string, () => Promise<string> | string]>([
    ['expired', () => claims('HS256', Math.floor(Date.now() / 1_000) - 60).sign(secret())],
    ['unsigned (alg none)', () => `${base64({ alg: 'none' })}.${base64({ sub: VIEWER, exp: 9_999_999_999 })}.`],
    [
      'unsigned under the name of HS256',
      () => `${base64({ alg: 'HS256' })}.${base64({ sub: VIEWER, exp: 9_999_999_999 })}.`,
    ],
    ['of algorithm HS512', () => claims('HS512').sign(new Uint8Array([...secret(), ...secret()]))],
    ['of algorithm RS256', () => claims('RS256').sign(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)],
    ['of another secret', () => claims('HS256').sign(new TextEncoder().encode('a secret that is not the right one'))],
    ['of somebody whose id is no number', () => claims('HS256').setSubject('root').sign(secret())],
    ['of an id above 64 bits', () => claims('HS256').setSubject('18446744073709551616').sign(secret())],
    [
      'without a subject',
      () => new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(secret()),
    ],
    ['not valid yet', () => claims('HS256').setNotBefore('1h').sign(secret())],
    ['no token at all', () => 'garbage'],
  ])(
    'a token that is %s is UNAUTHENTICATED at the gateway and at each subgraph, and changes nothing',
    async (_, make) => {
      const token = await make();
      await expectNothingChanged(async () => {
        for (const [query, variables] of OPERATIONS) {
          const { body } = await stack.post(query, variables, token);
          expect(body.errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
          expect(body.data ?? null).toBeNull();
        }
        for (const { url } of [stack.running.timeline, stack.running.social]) {
          const { body } = await postGraphql(url, '{ __typename }', { token });
          expect(body.errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
        }
      });
    },
  );
});

describe('ids', () => {
  const QUERIES = [DELETE, HIDE, REPOST, LIKE, COMMENT, UNCOMMENT, FOLLOW, BLOCK, FANOUT].concat(
    'query ($id: ID!) { content(contentId: $id) { id } }',
    'query ($id: ID!) { user(userId: $id) { id } }',
  );

  test.each([
    '-1',
    'abc',
    '18446744073709551616',
    '01',
    '1e3',
    '',
    ' 1',
    '1 ',
    '+1',
    '0x10',
    '1.0',
    '٣',
    '9'.repeat(40),
  ])('the id %j is BAD_USER_INPUT everywhere and changes nothing', async (id) => {
    await expectNothingChanged(async () => {
      for (const query of QUERIES)
        expect([query, await stack.codeOf(VIEWER, query, { id })]).toEqual([query, 'BAD_USER_INPUT']);
    });
  });

  test('the greatest id is an id like any other: of a user, of a token and of a post', async () => {
    await stack.importAll([user(ID_MAX), content(ID_MAX, ID_MAX, T0 + 1)]);
    await stack.ask('5', FOLLOW, { id: ID_MAX });
    const { publishContent } = await stack.ask(ID_MAX, PUBLISH, { input: { text: 'from the last user there can be' } });
    const { edges } = await readPage(stack, '5');
    expect(edges.map(({ node }) => node.contentId)).toEqual([publishContent.content.contentId, ID_MAX]);
    expect(
      await stack.ask(ID_MAX, 'query ($id: ID!) { viewer { userId } user(userId: $id) { userId followerCount } }', {
        id: ID_MAX,
      }),
    ).toEqual({
      viewer: { userId: ID_MAX },
      user: { userId: ID_MAX, followerCount: 1 },
    });
    expect(await stack.codeOf(ID_MAX, DELETE, { id: ID_MAX })).toBe('none');
    expect((await readPage(stack, '5')).edges).toHaveLength(1);
  });

  test('id 0 is an id like any other', async () => {
    await stack.ask('0', PUBLISH, { input: { text: 'from the first user there can be' } });
    await stack.ask('6', FOLLOW, { id: '0' });
    expect((await readPage(stack, '6')).edges).toHaveLength(1);
  });
});

describe('bodies and files', () => {
  test('a body of 10 MB is BAD_USER_INPUT at the gateway and at each subgraph, and publishes nothing', async () => {
    const token = await stack.tokenFor(VIEWER);
    await expectNothingChanged(async () => {
      for (const { url } of [stack.running.gateway, stack.running.timeline, stack.running.social]) {
        const input = { text: 'a'.repeat(10 * 1024 * 1024) };
        const { status, body } = await postGraphql(url, PUBLISH, { variables: { input }, token });
        expect([status, body.errors?.[0]?.extensions.code]).toEqual([413, 'BAD_USER_INPUT']);
      }
    });
  });

  const lines = [
    JSON.stringify({ ...user('70'), handle: 'seventy' }),
    '{"kind":"user","id":',
    JSON.stringify(follow(VIEWER, '70')),
    JSON.stringify({ ...content('7000', '70', T0), id: '-7' }),
    JSON.stringify({ kind: 'like', user: VIEWER, content: '404' }),
    JSON.stringify(content('7001', '70', T0 + 70)),
    '[]',
  ].join('\n');

  const runImport = async (...options: string[]) => {
    const file = writeTempFile('broken.ndjson', lines);
    const args = ['--import', './scripts/lib/register-typescript.mjs', 'src/cli/main.ts', 'import', file, ...options];
    const env = { ...process.env, NODE_OPTIONS: '', ...stack.environment };
    return new Promise<{ code: number; text: string; file: string }>((resolve) => {
      execFile(process.execPath, args, { env }, (error, stdout, stderr) => {
        resolve({ code: Number(error?.code ?? 0), text: stdout + stderr, file });
      });
    });
  };

  test('--strict stops at the first broken line of a file and changes nothing', async () => {
    await expectNothingChanged(async () => {
      const { code, text } = await runImport('--strict');
      expect(code).toBe(1);
      expect(text).toMatch(/line 2: not JSON/);
    });
  });

  test('broken lines of a file are reported by number, and the rest goes on', async () => {
    const { code, text, file } = await runImport();
    expect(code).toBe(1);
    for (const [lineNo, reason] of [
      [2, 'not JSON'],
      [4, 'id must be'],
      [5, 'content 404 is not known'],
      [7, 'must be a JSON object'],
    ]) {
      expect(text).toContain(`${file}:${lineNo}: ${reason}`);
    }
    expect(text).not.toMatch(/:(1|3|6): /);
    expect((await readPage(stack, VIEWER)).edges[0]?.node.contentId).toBe('7001');
    expect(
      await stack.ask(VIEWER, '{ user(userId: "70") { handle followerCount } content(contentId: "7000") { id } }'),
    ).toEqual({
      user: { handle: 'seventy', followerCount: 1 },
      content: null,
    });
  });
});
