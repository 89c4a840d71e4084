import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findProjectFile } from '../../src/project-files.js';
import { startApolloGateway } from '../harness/apollo-gateway.js';
import { content, follow, startStack, user, type Page, type Stack } from '../harness/stack.js';
import { postGraphql } from '../harness/tiny-subgraphs.js';

// What the timeline promises, wherever it is asked: through our gateway, through Apollo's, and at the subgraph alone.

const [VIEWER, AUTHOR, OTHER] = ['1', '2', '3'] as const;
const T0 = 1_700_000_000_000;
const POSTS = 23;

let stack: Stack;
let apollo: Awaited<ReturnType<typeof startApolloGateway>>;

beforeAll(async () => {
  stack = await startStack();
  const { timeline, social } = stack.running;
  apollo = await startApolloGateway({
    supergraphSdl: readFileSync(findProjectFile('schema/supergraph.graphql'), 'utf8'),
    urls: { timeline: `${timeline.url}/graphql`, social: `${social.url}/graphql` },
  });
  await stack.importAll([
    ...[VIEWER, AUTHOR, OTHER].map((id) => user(id)),
    follow(VIEWER, AUTHOR),
    follow(OTHER, VIEWER),
    // Ties: three posts share each time.
    ...Array.from({ length: POSTS }, (_, i) => content(String(100 + i), AUTHOR, T0 + Math.floor(i / 3))),
    content('200', AUTHOR, T0 + 100, { visibility: 'PRIVATE' }),
    content('300', VIEWER, T0),
  ]);
});
afterAll(async () => {
  await apollo.close();
  await stack.close();
});

const PLACES: [string, () => string][] = [
  ['our gateway', () => stack.url],
  ['@apollo/gateway', () => apollo.url],
  ['the timeline subgraph alone', () => stack.running.timeline.url],
];

const FEED = `query ($first: Int, $after: String, $last: Int, $before: String) {
  timelineFeed(first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { contentId publishTime author { handle } counters { likes } viewerHasLiked } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } emptyReason isComplete } }`;
const EXPECTED = Array.from({ length: POSTS }, (_, i) => String(100 + POSTS - 1 - i));

describe.each(PLACES)('%s', (_, urlOf) => {
  const answer = async (userId: string | null, query: string, variables: object = {}, headers = {}) => {
    const token = userId === null ? {} : { token: await stack.tokenFor(userId) };
    return (await postGraphql(urlOf(), query, { variables, headers, ...token })).body;
  };
  const codeOf = async (...args: Parameters<typeof answer>) =>
    (await answer(...args)).errors?.[0]?.extensions.code ?? 'none';
  const readPage = async (userId: string, variables: object = {}, headers = {}): Promise<Page> => {
    const { data, errors } = await answer(userId, FEED, variables, headers);
    expect(errors).toBeUndefined();
    return data?.['timelineFeed'] as Page;
  };
  const idsOf = ({ edges }: Page) => edges.map(({ node }) => node.contentId);

  test.each([1, 7, 50])('a walk of pages of %d meets every post once, in order', async (first) => {
    const ids: string[] = [];
    for (let after: string | null = null, pages = 0; pages < 100; pages += 1) {
      const page: Page = await readPage(VIEWER, { first, after });
      ids.push(...idsOf(page));
      expect(page.isComplete).toBe(true);
      if (!page.pageInfo.hasNextPage) break;
      after = page.pageInfo.endCursor;
    }
    expect(ids).toEqual(EXPECTED);
  });

  test('a gap is filled from below, and newer posts are counted', async () => {
    const page = await readPage(VIEWER, { first: 10 });
    const { cursor } = page.edges[9]!;
    expect(idsOf(await readPage(VIEWER, { last: 4, before: cursor }))).toEqual(EXPECTED.slice(5, 9));
    const { data } = await answer(VIEWER, `{ timelineNewer(than: "${cursor}") { count hasMore } }`);
    expect(data).toEqual({ timelineNewer: { count: 9, hasMore: false } });
    expect(page.edges[0]?.node).toMatchObject({ author: { handle: 'h2' }, counters: { likes: 0 } });
  });

  test('the codes of errors', async () => {
    expect(await codeOf(null, FEED)).toBe('UNAUTHENTICATED');
    expect(await codeOf(VIEWER, FEED, { first: 101 })).toBe('BAD_USER_INPUT');
    expect(await codeOf(VIEWER, FEED, { first: 2_147_483_647 })).toBe('BAD_USER_INPUT');
    expect(await codeOf(VIEWER, FEED, { first: 1, last: 1 })).toBe('BAD_USER_INPUT');
    expect(await codeOf(VIEWER, FEED, { after: 'nonsense' })).toBe('INVALID_CURSOR');
    expect(await codeOf(VIEWER, '{ timelineFeed { nothing } }')).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(await codeOf(VIEWER, '{ timelineFeed ')).toBe('GRAPHQL_PARSE_FAILED');
    expect((await answer(VIEWER, '{ fanout(contentId: "404") { state } }')).data).toEqual({ fanout: null });
  });

  test("a viewer's token yields nobody else's feed, delivery or cursor", async () => {
    const own = await readPage(OTHER);
    expect(idsOf(own)).toEqual(['300']);
    const claims = { 'x-user-id': VIEWER, 'x-viewer': VIEWER, 'x-forwarded-user': VIEWER, cookie: `userId=${VIEWER}` };
    expect(idsOf(await readPage(OTHER, { userId: VIEWER, viewer: { userId: VIEWER } }, claims))).toEqual(['300']);
    const foreign = (await readPage(VIEWER, { first: 1 })).pageInfo.endCursor;
    expect(await codeOf(OTHER, FEED, { after: foreign })).toBe('INVALID_CURSOR');
    expect(await codeOf(OTHER, FEED, { last: 1, before: foreign })).toBe('INVALID_CURSOR');
    expect(await codeOf(OTHER, `{ timelineNewer(than: "${foreign}") { count } }`)).toBe('INVALID_CURSOR');
    expect(await codeOf(OTHER, '{ fanout(contentId: "300") { state } }')).toBe('FORBIDDEN');
    const token = await stack.tokenFor(VIEWER);
    const [header, payload, signature] = token.split('.') as [string, string, string];
    const otherPayload = Buffer.from(
      JSON.stringify({ ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), sub: AUTHOR }),
    ).toString('base64url');
    const { body } = await postGraphql(urlOf(), FEED, { token: `${header}.${otherPayload}.${signature}` });
    expect([body.data ?? null, body.errors?.[0]?.extensions.code]).toEqual([null, 'UNAUTHENTICATED']);
  });
});

test('all of them give the same page, byte by byte', async () => {
  const token = await stack.tokenFor(VIEWER);
  const pages = await Promise.all(
    PLACES.map(async ([, urlOf]) => (await postGraphql(urlOf(), FEED, { variables: { first: 5 }, token })).body.data),
  );
  expect(pages[1]).toEqual(pages[0]);
  expect(pages[2]).toEqual(pages[0]);
});
