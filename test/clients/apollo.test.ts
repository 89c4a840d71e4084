import { ApolloClient, ApolloLink, CombinedGraphQLErrors, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { relayStylePagination } from '@apollo/client/utilities';
import { getMainDefinition } from '@apollo/client/utilities/internal';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { OperationTypeNode } from 'graphql';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import { startMovingFeed, type MovingFeed } from './moving-feed.js';

// The recipes of docs/frontends.md, run by Apollo Client itself.

const FIELDS = `edges { cursor node { id contentId text author { id displayName } counters { likes } } }
  pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`;
const FEED = gql`query Feed($first: Int, $after: String, $last: Int, $before: String) {
  timelineFeed(first: $first, after: $after, last: $last, before: $before) { ${FIELDS} } }`;
const NEWER = gql`
  subscription Newer($since: String) {
    timelineUpdated(since: $since) {
      newerCount
      hasMore
    }
  }
`;
const REPOSTS = gql`
  query Reposts($first: Int!, $after: String) {
    timelineFeed(first: $first, after: $after) {
      edges {
        cursor
        node {
          id
          repostOf {
            id
          }
        }
      }
    }
  }
`;

let feed: MovingFeed;
let socket: ReturnType<typeof createClient>;

beforeAll(async () => {
  feed = await startMovingFeed();
  socket = createClient({
    url: `${feed.stack.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: () => ({ authorization: `Bearer ${feed.token}` }),
  });
});
afterAll(async () => {
  await socket.dispose();
  await feed.stack.close();
});

const openClient = (): ApolloClient =>
  new ApolloClient({
    cache: new InMemoryCache({ typePolicies: { Query: { fields: { timelineFeed: relayStylePagination() } } } }),
    link: ApolloLink.split(
      ({ query }) => {
        const definition = getMainDefinition(query);
        return 'operation' in definition && definition.operation === OperationTypeNode.SUBSCRIPTION;
      },
      new GraphQLWsLink(socket),
      new HttpLink({ uri: `${feed.stack.url}/graphql`, headers: { authorization: `Bearer ${feed.token}` } }),
    ),
  });

interface Connection {
  readonly edges: { node: { contentId: string; repostOf?: null } }[];
  readonly pageInfo: { hasNextPage: boolean; startCursor: string; endCursor: string };
}

/** The feed on a screen, as a component would watch it. */
async function openScreen(client: ApolloClient, first: number) {
  const query = client.watchQuery({ query: FEED, variables: { first }, notifyOnNetworkStatusChange: false });
  let watching!: { unsubscribe(): void };
  await new Promise<void>((resolve) => {
    watching = query.subscribe(({ dataState }) => dataState === 'complete' && resolve());
  });
  const connection = () => (query.getCurrentResult().data as { timelineFeed: Connection }).timelineFeed;
  return {
    query,
    pageInfo: () => connection().pageInfo,
    ids: () => connection().edges.map(({ node }) => node.contentId),
    /** Ends when the screen shows what came: a little later than the promise of fetchMore. */
    async fetchMore(variables: object) {
      const before = connection();
      await query.fetchMore({ variables });
      while (connection() === before) await new Promise(setImmediate);
    },
    close: () => watching.unsubscribe(),
  };
}

test.each([1, 7, 50])(
  'infinite scroll, %i a page: nothing twice, and nothing skipped that stood still',
  async (size) => {
    const screen = await openScreen(openClient(), size);
    while (screen.pageInfo().hasNextPage) {
      await feed.disturb(size);
      await screen.fetchMore({ after: screen.pageInfo().endCursor });
    }
    const ids = screen.ids();
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => feed.standing.includes(id))).toEqual(feed.standing);
    screen.close();
  },
  180_000,
);

test('"N new posts" is told by the subscription, and a refresh shows them', async () => {
  const client = openClient();
  const screen = await openScreen(client, 5);
  const counts: number[] = [];
  const listen = () =>
    client
      .subscribe<{ timelineUpdated: { newerCount: number } }>({
        query: NEWER,
        variables: { since: screen.pageInfo().startCursor },
      })
      .subscribe(({ data }) => counts.push(data?.timelineUpdated.newerCount ?? -1));
  const untilCount = async (count: number) => {
    while (counts.at(-1) !== count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const old = listen();
  await untilCount(0);
  const newest = [await feed.publish(), await feed.publish()];
  await untilCount(2);
  await screen.query.refetch();
  expect(screen.ids().slice(0, 2)).toEqual(newest.reverse());
  old.unsubscribe();
  const again = listen();
  await untilCount(0);
  again.unsubscribe();
  screen.close();
});

test('a gap above what is shown is filled without loading the rest anew', async () => {
  const screen = await openScreen(openClient(), 5);
  const before = screen.ids();
  const missed = [await feed.publish(), await feed.publish(), await feed.publish()].reverse();
  await screen.fetchMore({ first: null, last: 100, before: screen.pageInfo().startCursor });
  expect(screen.ids()).toEqual([...missed, ...before]);
  screen.close();
});

test('an error code arrives with the error; a service that is away costs its fields and not the page', async () => {
  const client = openClient();
  const error = await client.query({ query: FEED, variables: { after: 'x' } }).catch((thrown: unknown) => thrown);
  expect(CombinedGraphQLErrors.is(error) && error.errors[0]?.extensions?.['code']).toBe('INVALID_CURSOR');
  await feed.stack.running.social.close();
  const { data, error: partial } = await client.query({
    query: REPOSTS,
    variables: { first: 2 },
    errorPolicy: 'all',
  });
  expect((data as { timelineFeed: Connection }).timelineFeed.edges.map(({ node }) => node.repostOf)).toEqual([
    null,
    null,
  ]);
  expect(CombinedGraphQLErrors.is(partial) && partial.errors[0]?.extensions?.['code']).toBe('SERVICE_UNAVAILABLE');
});
