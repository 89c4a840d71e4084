import { readFileSync } from 'node:fs';
import { composeServices, compositionHasErrors } from '@theguild/federation-composition';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'graphql';
import { toGlobalId } from '../../src/domain/ids.js';
import { startGateway } from '../../src/gateway/server.js';
import type { RunningServer } from '../../src/http.js';
import { findProjectFile } from '../../src/project-files.js';
import { startApolloGateway } from '../harness/apollo-gateway.js';
import { content, follow, startStack, user, type Stack } from '../harness/stack.js';
import { createTestLog, postGraphql, startTinySubgraph, testConfig, writeTempFile } from '../harness/tiny-subgraphs.js';

const T0 = 1_700_000_000_000;
const VIEWER = '1';
const AUTHOR = '2';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({}, { roles: [] });
  await stack.importAll([
    ...[VIEWER, AUTHOR, '3'].map((id) => user(id, { avatarUrl: `https://a.example/${id}.png` })),
    follow(VIEWER, AUTHOR),
    ...Array.from({ length: 40 }, (_, i) => content(String(100 + i), AUTHOR, T0 + i)),
    content('200', '3', T0, { visibility: 'PRIVATE' }),
    content('201', '3', T0, { visibility: 'FOLLOWERS' }),
    content('202', AUTHOR, T0, { visibility: 'FOLLOWERS' }),
    { kind: 'like', user: VIEWER, content: '100' },
    { kind: 'comment', id: '5', content: '100', user: VIEWER, text: 'so it is', at: T0 },
  ]);
});
afterAll(() => stack.close());

const SHAREABLE = `
  ... on Content { id contentId text media { url kind width height altText } publishTime visibility author { id userId handle displayName avatarUrl }
    counters { likes comments reposts favorites } viewerHasLiked }
  ... on User { id userId handle displayName avatarUrl }`;
const ENTITIES = `query ($representations: [_Any!]!) { _entities(representations: $representations) { __typename ${SHAREABLE} } }`;

type Reference = Readonly<Record<string, unknown>>;
async function resolveAt(name: 'timeline' | 'social', representations: readonly Reference[], as = VIEWER) {
  const { body } = await postGraphql(stack.running[name].url, ENTITIES, {
    variables: { representations },
    token: await stack.tokenFor(as),
  });
  return { entities: (body.data?.['_entities'] ?? []) as (Reference | null)[], errors: body.errors };
}

const contentBy = {
  contentId: (id: string): Reference => ({ __typename: 'Content', contentId: id }),
  id: (id: string): Reference => ({ __typename: 'Content', id: toGlobalId('Content', BigInt(id)) }),
};
const userBy = {
  userId: (id: string): Reference => ({ __typename: 'User', userId: id }),
  id: (id: string): Reference => ({ __typename: 'User', id: toGlobalId('User', BigInt(id)) }),
};

describe.each(['timeline', 'social'] as const)('references at the %s subgraph', (name) => {
  test('either key names the same content and the same user', async () => {
    const { entities, errors } = await resolveAt(name, [
      contentBy.contentId('100'),
      contentBy.id('100'),
      userBy.userId(AUTHOR),
      userBy.id(AUTHOR),
    ]);
    expect(errors).toBeUndefined();
    expect(entities[0]).toMatchObject({ contentId: '100', text: 'Post 100', viewerHasLiked: true });
    expect(entities[2]).toMatchObject({ userId: AUTHOR, handle: 'h2' });
    expect([entities[1], entities[3]]).toEqual([entities[0], entities[2]]);
  });

  test('a bad one costs its own row', async () => {
    const bad: Reference[] = [
      contentBy.contentId('404'),
      contentBy.contentId('not a number'),
      contentBy.contentId('18446744073709551616'),
      { __typename: 'Content', id: 'nonsense' },
      { __typename: 'Content', id: toGlobalId('User', 1n) },
      { __typename: 'Content', contentId: 100 },
      { __typename: 'Content' },
      { __typename: 'User', userId: '-1' },
      userBy.userId('404'),
    ];
    const { entities, errors } = await resolveAt(name, [contentBy.contentId('100'), ...bad, userBy.userId(AUTHOR)]);
    expect(errors).toBeUndefined();
    expect(entities.map((entity) => entity && (entity['contentId'] ?? entity['userId']))).toEqual([
      '100',
      ...bad.map(() => null),
      AUTHOR,
    ]);
  });

  test('a post that the viewer may not see is not there, whoever asks for it by which key', async () => {
    const hidden = ['200', '201'].flatMap((id) => [contentBy.contentId(id), contentBy.id(id)]);
    const references = [...hidden, contentBy.contentId('202')];
    const idsFor = async (viewer: string) =>
      (await resolveAt(name, references, viewer)).entities.map((entity) => entity?.['contentId'] ?? null);
    expect(await idsFor(VIEWER)).toEqual([null, null, null, null, '202']);
    expect(await idsFor('3')).toEqual(['200', '200', '201', '201', null]);
  });

  test('any number of them takes the same few statements', async () => {
    const { pool } = stack.app.database;
    const readStatements = async (ids: readonly string[]) => {
      const query = pool.query.bind(pool) as (...args: unknown[]) => unknown;
      const statements: string[] = [];
      pool.query = ((...args: [string | { text: string }, ...unknown[]]) => {
        statements.push(typeof args[0] === 'string' ? args[0] : args[0].text);
        return query(...args);
      }) as unknown as typeof pool.query;
      try {
        await resolveAt(name, ids.map(contentBy.contentId));
      } finally {
        pool.query = query as typeof pool.query;
      }
      return statements;
    };
    // Other posts each time: details that the process knows already are not looked up.
    const one = await readStatements(['101']);
    expect(one.length).toBeGreaterThan(0);
    expect(await readStatements(Array.from({ length: 38 }, (_, i) => String(102 + i)))).toEqual(one);
  });
});

test('@shareable fields are the same from both subgraphs', async () => {
  const references = [
    ...Array.from({ length: 40 }, (_, i) => contentBy.contentId(String(100 + i))),
    contentBy.id('202'),
    ...[VIEWER, AUTHOR, '3'].map(userBy.userId),
  ];
  const [timeline, social] = [await resolveAt('timeline', references), await resolveAt('social', references)];
  expect(timeline).toEqual(social);
  expect(timeline.entities.every((entity) => entity !== null)).toBe(true);
  expect(timeline.entities[0]).toMatchObject({ counters: { likes: 1, comments: 1, reposts: 0, favorites: 0 } });
});

// examples/insights.graphql: a subgraph of another team that extends Content and User by their keys.
describe('a foreign subgraph', () => {
  const sdlOf = (file: string) => readFileSync(findProjectFile(file), 'utf8');
  const resolvers = {
    Query: { picks: async () => ['101', '404', '200'].map((contentId) => ({ contentId })) },
    Content: {
      __resolveReference: async ({ contentId }: { contentId: string }) => ({ contentId }),
      readingMinutes: ({ contentId }: { contentId: string }) => Number(contentId) % 7,
    },
    User: {
      __resolveReference: async ({ userId }: { userId: string }) => ({ userId }),
      badges: ({ userId }: { userId: string }) => [`member ${userId}`],
    },
  };
  const gateways: Record<string, { readonly url: string; close(): Promise<void> }> = {};
  let insights: RunningServer;

  beforeAll(async () => {
    const files = {
      timeline: 'schema/timeline.graphql',
      social: 'schema/social.graphql',
      insights: 'examples/insights.graphql',
    };
    const services = Object.entries(files).map(([name, file]) => ({
      name,
      url: `http://${name}.example/graphql`,
      typeDefs: parse(sdlOf(file)),
    }));
    const composed = composeServices(services);
    if (compositionHasErrors(composed)) throw new Error(composed.errors.map(({ message }) => message).join('\n'));
    const { supergraphSdl } = composed;
    const typeDefs = findProjectFile('examples/insights.graphql');
    insights = await startTinySubgraph('insights', resolvers, { typeDefs });
    const urls = Object.fromEntries(
      Object.entries({ timeline: stack.running.timeline, social: stack.running.social, insights }).map(
        ([name, { url }]) => [name, `${url}/graphql`],
      ),
    );
    gateways['our gateway'] = await startGateway({
      config: testConfig(),
      log: createTestLog().log,
      supergraphPath: writeTempFile('supergraph.graphql', supergraphSdl),
      subgraphUrls: urls,
      port: 0,
    });
    gateways['@apollo/gateway'] = await startApolloGateway({ supergraphSdl, urls });
  });
  afterAll(async () => {
    await Promise.all([...Object.values(gateways), insights].map((server) => server.close()));
  });

  describe.each(['our gateway', '@apollo/gateway'])('%s', (name) => {
    const ask = async (query: string) =>
      (await postGraphql(gateways[name]!.url, query, { token: await stack.tokenFor(VIEWER) })).body;

    test('adds its fields to the posts and authors of a feed', async () => {
      const { data, errors } = await ask(
        '{ timelineFeed(first: 2) { nodes { contentId readingMinutes author { handle badges } } } }',
      );
      expect(errors).toBeUndefined();
      const author = { handle: 'h2', badges: ['member 2'] };
      expect(data).toEqual({
        timelineFeed: {
          nodes: [
            { contentId: '139', readingMinutes: 6, author },
            { contentId: '138', readingMinutes: 5, author },
          ],
        },
      });
    });

    test('refers to posts whose fields come from here, and to none that the viewer may not see', async () => {
      const { data } = await ask('{ picks { contentId } }');
      expect(data).toEqual({ picks: ['101', '404', '200'].map((contentId) => ({ contentId })) });
      const counted = await ask('{ picks { contentId counters { likes } } }');
      expect(counted.data?.['picks']).toEqual([
        { contentId: '101', counters: { likes: 0 } },
        { contentId: '404', counters: null },
        { contentId: '200', counters: null },
      ]);
    });
  });
});
