import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openApp } from '../../../src/app.js';
import { readConfig } from '../../../src/config.js';
import { createHydration } from '../../../src/feed/hydrate.js';
import { createHydrationParts } from '../../../src/wiring/subgraphs.js';
import { content, follow, startStack, user, type Stack } from '../../harness/stack.js';

const BIG = '2';
let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ FANOUT_PUSH_THRESHOLD: '1', CONTENT_CACHE_TTL_MS: '3600000' });
  await stack.importAll([
    ...['1', BIG, '3'].map((id) => user(id)),
    follow('1', BIG),
    follow('3', BIG),
    content('10', BIG, 1_700_000_000_000),
  ]);
});
afterAll(() => stack.close());

const UPDATE = `mutation ($input: UpdateProfileInput!) { updateProfile(input: $input) { user { handle displayName avatarUrl } } }`;
const update = async (input: object, userId = BIG) => (await stack.ask(userId, UPDATE, { input })).updateProfile.user;
const nameInFeed = async () =>
  (await stack.ask('1', '{ timelineFeed { edges { node { author { displayName } } } } }')).timelineFeed.edges[0].node
    .author.displayName;

it('sets what is given, keeps what is left out, and takes the picture away by null', async () => {
  const avatarUrl = 'https://example.org/a.png';
  expect(await update({ displayName: '  Ann  Other ', avatarUrl })).toEqual({
    handle: 'h2',
    displayName: 'Ann  Other',
    avatarUrl,
  });
  expect(await update({ displayName: 'Bea' })).toMatchObject({ displayName: 'Bea', avatarUrl });
  expect(await update({ avatarUrl: null })).toMatchObject({ displayName: 'Bea', avatarUrl: null });
  expect(await update({})).toMatchObject({ displayName: 'Bea', avatarUrl: null });
});

it('makes a row for a viewer who has none', async () => {
  expect(await update({ displayName: 'Newcomer' }, '77')).toMatchObject({
    handle: 'user_77',
    displayName: 'Newcomer',
  });
});

it('answers with what each of several updates in one request has set', async () => {
  const two = `mutation { a: updateProfile(input: { displayName: "A" }) { user { displayName } }
    b: updateProfile(input: { displayName: "B" }) { user { displayName } } }`;
  expect(await stack.ask('3', two)).toEqual({ a: { user: { displayName: 'A' } }, b: { user: { displayName: 'B' } } });
});

it.each([
  ['an empty name', { displayName: '  ' }],
  ['no name', { displayName: null }],
  ['a name of 51 characters', { displayName: 'x'.repeat(51) }],
  ['a name of two lines', { displayName: 'a\nb' }],
  ['a name with U+0000', { displayName: 'a\0b' }],
  ['a script for a picture', { avatarUrl: 'javascript:alert(1)' }],
  ['an empty picture', { avatarUrl: '' }],
])('refuses %s and changes nothing', async (_, input) => {
  const before = await update({});
  expect(await stack.codeOf(BIG, UPDATE, { input })).toBe('BAD_USER_INPUT');
  expect(await update({})).toEqual(before);
});

it('is not for somebody without a token', async () => {
  const { body } = await stack.post(UPDATE, { input: { displayName: 'X' } });
  expect(body.errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
});

it('reaches the feed and the cache of every process', async () => {
  await update({ displayName: 'Before' });
  expect(await nameInFeed()).toBe('Before');
  const other = await openApp(readConfig(stack.environment));
  try {
    const { deps } = createHydrationParts(other);
    const nameElsewhere = async () => (await createHydration(deps, { viewer: null }).users.load(2n))?.displayName;
    // A cache is cleared once its subscription stands; from then on it keeps what it has seen.
    let changes = 0;
    await until(async () => {
      const seen = await nameElsewhere();
      await stack.app.database.pool.query('UPDATE users SET display_name = $1 WHERE id = 2', [`Unheard ${++changes}`]);
      return (await nameElsewhere()) === seen;
    });
    expect(await nameInFeed()).toBe('Before');
    await update({ displayName: 'After' });
    expect(await nameInFeed()).toBe('After');
    await until(async () => (await nameElsewhere()) === 'After');
  } finally {
    await other.close();
  }
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
