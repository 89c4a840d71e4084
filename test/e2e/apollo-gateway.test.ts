import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { findProjectFile } from '../../src/project-files.js';
import { startApolloGateway } from '../harness/apollo-gateway.js';
import { follow, startStack, user, type Stack } from '../harness/stack.js';
import { postGraphql } from '../harness/tiny-subgraphs.js';

// A team that runs Apollo's gateway puts both subgraphs behind it; what they promise holds there too.

let stack: Stack;
let apollo: Awaited<ReturnType<typeof startApolloGateway>>;
let url: string;

beforeAll(async () => {
  stack = await startStack();
  const { timeline, social } = stack.running;
  apollo = await startApolloGateway({
    supergraphSdl: readFileSync(findProjectFile('schema/supergraph.graphql'), 'utf8'),
    urls: { timeline: `${timeline.url}/graphql`, social: `${social.url}/graphql` },
  });
  ({ url } = apollo);
});
afterAll(async () => {
  await apollo.close();
  await stack.close();
});

const FEED = `query ($first: Int, $after: String) { timelineFeed(first: $first, after: $after) {
  edges { cursor node { contentId text publishTime viewerHasLiked
    author { handle followerCount } counters { likes reposts } repostOf { text author { displayName } } } }
  pageInfo { hasNextPage hasPreviousPage startCursor endCursor } emptyReason isComplete } }`;
const PUBLISH =
  'mutation ($input: PublishContentInput!) { publishContent(input: $input) { content { contentId text author { handle } } } }';
const FOLLOW =
  'mutation ($id: ID!, $on: Boolean!) { setFollow(input: { userId: $id, following: $on }) { user { viewerIsFollowing } } }';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the assertions are the type check
const ask = async (userId: string, query: string, variables: object = {}): Promise<any> => {
  const { body } = await postGraphql(url, query, { variables, token: await stack.tokenFor(userId) });
  expect(body.errors).toBeUndefined();
  return body.data;
};
const codeOf = async (query: string, variables: object, token?: string) =>
  (await postGraphql(url, query, { variables, ...(token && { token }) })).body.errors?.[0]?.extensions.code;

test('posts are published, delivered, read page by page, and answered as by our own gateway', async () => {
  await stack.importAll([user('1'), user('2'), user('3'), follow('1', '2'), follow('3', '2')]);
  await ask('1', FEED);
  await stack.drain();
  const ids: string[] = [];
  for (const text of ['one', 'two', 'three']) {
    const { content } = (await ask('2', PUBLISH, { input: { text } })).publishContent;
    expect(content).toMatchObject({ text, author: { handle: 'h2' } });
    ids.unshift(content.contentId);
  }
  await ask('2', PUBLISH, { input: { text: '', repostOfContentId: ids[2] } });
  for (let phase = 0; phase < 2; phase += 1) {
    const first = (await ask('1', FEED, { first: 3 })).timelineFeed;
    const second = (await ask('1', FEED, { first: 3, after: first.pageInfo.endCursor })).timelineFeed;
    expect([...first.edges, ...second.edges].map((edge: { node: { text: string } }) => edge.node.text)).toEqual([
      '',
      'three',
      'two',
      'one',
    ]);
    expect(first.edges[0].node).toMatchObject({
      repostOf: { text: 'one', author: { displayName: 'Name 2' } },
      author: { handle: 'h2', followerCount: 2 },
    });
    expect([first.pageInfo.hasNextPage, second.pageInfo.hasNextPage]).toEqual([true, false]);
    expect((await stack.ask('1', FEED, { first: 3 })).timelineFeed).toEqual(first);
    await stack.drain();
  }
});

test('an unfollow holds at the next read, and following again brings the posts back', async () => {
  expect(await ask('3', FOLLOW, { id: '2', on: false })).toEqual({ setFollow: { user: { viewerIsFollowing: false } } });
  expect((await ask('3', FEED)).timelineFeed).toMatchObject({ edges: [], emptyReason: 'NO_FOLLOWING' });
  await ask('3', FOLLOW, { id: '2', on: true });
  expect((await ask('3', FEED)).timelineFeed.edges).toHaveLength(4);
});

test('errors keep their codes', async () => {
  const token = await stack.tokenFor('1');
  expect(await codeOf(FEED, { first: 101 }, token)).toBe('BAD_USER_INPUT');
  expect(await codeOf(FEED, { after: 'bad' }, token)).toBe('INVALID_CURSOR');
  expect(await codeOf(FEED, {})).toBe('UNAUTHENTICATED');
  expect(await codeOf(FEED, {}, 'garbage')).toBe('UNAUTHENTICATED');
  expect(await codeOf(PUBLISH, { input: { text: ' ' } }, token)).toBe('BAD_USER_INPUT');
});
