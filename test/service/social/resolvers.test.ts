import { readFileSync } from 'node:fs';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { graphql, parse, type GraphQLSchema } from 'graphql';
import { ID_MAX, toGlobalId } from '../../../src/domain/ids.js';
import { createHydration } from '../../../src/feed/hydrate.js';
import { createLocalSources } from '../../../src/feed/local-sources.js';
import { createSocialResolvers } from '../../../src/subgraphs/social/resolvers.js';
import { as, openSocialWorld, type SocialWorld } from '../../harness/social.js';

let world: SocialWorld;
let schema: GraphQLSchema;
const statements: string[] = [];

beforeAll(async () => {
  world = await openSocialWorld();
  await world.addUsers(1, 2, 3);
  const typeDefs = parse(readFileSync('schema/social.graphql', 'utf8'));
  const resolvers = createSocialResolvers({ social: world.social });
  schema = buildSubgraphSchema([{ typeDefs, resolvers: resolvers as never }]);
  const { pool } = world.database;
  const query = pool.query.bind(pool) as (statement: { name?: string }, values?: unknown) => unknown;
  pool.query = ((statement: { name?: string }, values?: unknown) => {
    statements.push(statement.name ?? 'unnamed');
    return query(statement, values);
  }) as typeof pool.query;
});
afterAll(() => world.close());

async function ask(viewerId: number | null, source: string, variableValues: Record<string, unknown> = {}) {
  statements.length = 0;
  const viewer = viewerId === null ? null : as(viewerId);
  const hydration = createHydration({ sources: createLocalSources(world.database.pool), timeoutMs: 5000 }, { viewer });
  const result = await graphql({ schema, source, variableValues, contextValue: { viewer, requestId: 'r', hydration } });
  const codes = (result.errors ?? []).map(
    (error) => (error.originalError as { code?: string } | undefined)?.code ?? error.message,
  );
  return { data: JSON.parse(JSON.stringify(result.data ?? null)), codes };
}

async function publish(viewerId: number, input: object): Promise<string> {
  const { data, codes } = await ask(
    viewerId,
    'mutation ($input: PublishContentInput!) { publishContent(input: $input) { content { contentId } } }',
    { input },
  );
  expect(codes).toEqual([]);
  return data.publishContent.content.contentId;
}

it('answers every field of a content and its people', async () => {
  const original = await publish(1, { text: 'original', media: [{ url: 'https://example.org/', kind: 'LINK' }] });
  await ask(
    2,
    `mutation { setFollow(input: { userId: "1", following: true }) { user { viewerIsFollowing followerCount } } }`,
  );
  await ask(
    2,
    `mutation { setReaction(input: { contentId: "${original}", kind: LIKE, active: true }) { active version content { viewerHasLiked } } }`,
  );
  const comment = await ask(
    2,
    `mutation { addComment(input: { contentId: "${original}", text: "nice" }) { comment { id commentId text createdAt author { handle } } } }`,
  );
  expect(comment.data.addComment.comment).toMatchObject({ text: 'nice', author: { handle: 'user_2' } });
  const repost = await publish(2, { text: '', repostOfContentId: original });
  const { data, codes } = await ask(
    2,
    `query ($repost: ID!) {
      content(contentId: $repost) {
        __typename id contentId text visibility
        author { id userId handle displayName avatarUrl followerCount followingCount viewerIsFollowing }
        repostOf {
          text media { url kind width height altText } publishTime counters { likes comments reposts favorites } viewerHasLiked
          author { viewerIsFollowing followers { edges { node { userId } } } }
          likers { edges { node { userId } } pageInfo { hasNextPage hasPreviousPage } }
          comments { edges { cursor node { text author { userId } } } }
        }
      }
    }`,
    { repost },
  );
  expect(codes).toEqual([]);
  const id = BigInt(original);
  expect(data.content).toMatchObject({
    __typename: 'Content',
    id: toGlobalId('Content', BigInt(repost)),
    author: { userId: '2', displayName: 'User 2', followingCount: 1, viewerIsFollowing: false },
    repostOf: {
      text: 'original',
      media: [{ url: 'https://example.org/', kind: 'LINK', width: null, height: null, altText: null }],
      publishTime: new Date(Number((id >> 22n) + 1_577_836_800_000n)).toISOString(),
      counters: { likes: 1, comments: 1, reposts: 1, favorites: 0 },
      viewerHasLiked: true,
      author: { viewerIsFollowing: true, followers: { edges: [{ node: { userId: '2' } }] } },
      likers: { edges: [{ node: { userId: '2' } }], pageInfo: { hasNextPage: false, hasPreviousPage: false } },
      comments: { edges: [{ node: { text: 'nice', author: { userId: '2' } } }] },
    },
  });
});

it('reads a page of any size with one statement per kind of thing', async () => {
  for (let i = 0; i < 25; i += 1) await world.social.publishContent(as(3), { text: `post ${i}` });
  const { data, codes } = await ask(
    2,
    `{ user(userId: "3") { contents(first: 25) { edges { node {
        text counters { likes } viewerHasLiked repostOf { contentId } author { handle viewerIsFollowing followerCount } } } } } }`,
  );
  expect(codes).toEqual([]);
  expect(data.user.contents.edges).toHaveLength(25);
  expect([...statements].sort()).toEqual(
    [
      'contents_outbox',
      'follows_among',
      'hydrate_contents',
      'hydrate_counters',
      'hydrate_liked',
      'hydrate_users',
      'users_counts',
    ].sort(),
  );
});

it('shows an anonymous reader what is public and asks for a token for the rest', async () => {
  const contentId = await publish(1, { text: 'open' });
  const anonymous = await ask(
    null,
    `{ viewer { id } content(contentId: "${contentId}") { text viewerHasLiked author { viewerIsFollowing } } }`,
  );
  expect(anonymous).toEqual({
    data: { viewer: null, content: { text: 'open', viewerHasLiked: null, author: { viewerIsFollowing: null } } },
    codes: [],
  });
  const mutations = [
    'publishContent(input: { text: "x" }) { content { id } }',
    'deleteContent(input: { contentId: "1" }) { contentId }',
    'setVisibility(input: { contentId: "1", visibility: PRIVATE }) { content { id } }',
    'setFollow(input: { userId: "1", following: true }) { user { id } }',
    'setBlock(input: { userId: "1", blocked: true }) { user { id } }',
    'setReaction(input: { contentId: "1", kind: LIKE, active: true }) { version }',
    'addComment(input: { contentId: "1", text: "x" }) { comment { id } }',
    'deleteComment(input: { commentId: "1" }) { commentId }',
  ];
  for (const mutation of mutations) {
    expect((await ask(null, `mutation { ${mutation} }`)).codes).toEqual(['UNAUTHENTICATED']);
  }
});

it('answers for a viewer whom nobody has registered', async () => {
  const { data } = await ask(
    4711,
    '{ viewer { id handle displayName avatarUrl followerCount contents { edges { cursor } } } }',
  );
  expect(data.viewer).toEqual({
    id: toGlobalId('User', 4711n),
    handle: 'user_4711',
    displayName: 'user_4711',
    avatarUrl: null,
    followerCount: 0,
    contents: { edges: [] },
  });
  expect((await ask(4711, '{ user(userId: "4711") { userId } }')).data.user).toEqual({ userId: '4711' });
  expect((await ask(1, '{ user(userId: "4711") { userId } }')).data.user).toBeNull();
});

it('finds nodes by global id and users by handle; what is not there is null', async () => {
  const contentId = await publish(1, { text: 'post' });
  const secret = await publish(1, { text: 'secret', visibility: 'PRIVATE' });
  const ids = [
    toGlobalId('Content', BigInt(contentId)),
    toGlobalId('User', 2n),
    toGlobalId('Content', BigInt(secret)),
    toGlobalId('Comment', 5n),
    'nonsense',
    contentId,
  ];
  const { data } = await ask(2, 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id } node(id: "x") { id } }', {
    ids,
  });
  expect(data.nodes).toEqual([
    { __typename: 'Content', id: ids[0] },
    { __typename: 'User', id: ids[1] },
    null,
    null,
    null,
    null,
  ]);
  expect(data.node).toBeNull();
  const byHandle = await ask(2, '{ a: user(handle: "user_2") { userId } b: user(handle: "nobody") { userId } }');
  expect(byHandle.data).toEqual({ a: { userId: '2' }, b: null });
});

it('refuses arguments that do not fit with their code', async () => {
  const codesOf = async (source: string) => (await ask(1, source)).codes;
  expect(await codesOf('{ user { id } }')).toEqual(['BAD_USER_INPUT']);
  expect(await codesOf('{ user(userId: "1", handle: "x") { id } }')).toEqual(['BAD_USER_INPUT']);
  for (const id of ['-1', '1.5', '01', '', 'abc', (ID_MAX + 1n).toString()]) {
    expect(await codesOf(`{ user(userId: "${id}") { id } }`)).toEqual(['BAD_USER_INPUT']);
    expect(await codesOf(`{ content(contentId: "${id}") { id } }`)).toEqual(['BAD_USER_INPUT']);
  }
  for (const field of ['contents', 'followers', 'following']) {
    expect(await codesOf(`{ user(userId: "1") { ${field}(first: 101) { edges { cursor } } } }`)).toEqual([
      'BAD_USER_INPUT',
    ]);
    expect(await codesOf(`{ user(userId: "1") { ${field}(after: "abc") { edges { cursor } } } }`)).toEqual([
      'INVALID_CURSOR',
    ]);
  }
  const ids = Array.from({ length: 101 }, (_, i) => toGlobalId('User', BigInt(i)));
  expect((await ask(1, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })).codes).toEqual(['BAD_USER_INPUT']);
});

it('resolves entities by either key in one look, with null for what is unknown, hidden or malformed', async () => {
  const contentId = await publish(1, { text: 'post' });
  const secret = await publish(1, { text: 'secret', visibility: 'PRIVATE' });
  const representations = [
    { __typename: 'Content', contentId },
    { __typename: 'Content', id: toGlobalId('Content', BigInt(contentId)) },
    { __typename: 'Content', contentId: secret },
    { __typename: 'Content', contentId: '12' },
    { __typename: 'Content', contentId: '-12' },
    { __typename: 'Content', id: toGlobalId('User', 1n) },
    { __typename: 'Content' },
    { __typename: 'User', userId: '1' },
    { __typename: 'User', id: toGlobalId('User', 2n) },
    { __typename: 'User', userId: 'x' },
    { __typename: 'Comment', id: 'x' },
  ];
  const { data, codes } = await ask(
    2,
    `query ($representations: [_Any!]!) { _entities(representations: $representations) {
      ... on Content { contentId } ... on User { userId } ... on Comment { text } } }`,
    { representations },
  );
  expect(codes).toEqual([]);
  expect(data._entities).toEqual([
    { contentId },
    { contentId },
    null,
    null,
    null,
    null,
    null,
    { userId: '1' },
    { userId: '2' },
    null,
    null,
  ]);
  expect([...statements].sort()).toEqual(['contents_visible', 'users_counts']);
});

it('sees its own changes within one request', async () => {
  const { data } = await ask(
    3,
    `mutation {
      a: setFollow(input: { userId: "1", following: true }) { user { viewerIsFollowing } }
      b: setFollow(input: { userId: "1", following: false }) { user { viewerIsFollowing } }
    }`,
  );
  expect(data).toEqual({ a: { user: { viewerIsFollowing: true } }, b: { user: { viewerIsFollowing: false } } });
});

it('answers repostOf with null to the author of a repost whose original is gone', async () => {
  const original = await publish(1, { text: 'original' });
  const repost = await publish(2, { text: 'look', repostOfContentId: original });
  await ask(1, `mutation { deleteContent(input: { contentId: "${original}" }) { contentId } }`);
  const query = `{ content(contentId: "${repost}") { text repostOf { text } } }`;
  expect((await ask(2, query)).data.content).toEqual({ text: 'look', repostOf: null });
  expect((await ask(3, query)).data.content).toBeNull();
});
