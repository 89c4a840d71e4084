import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { createClient } from 'graphql-ws';
import { act, createElement, Suspense } from 'react';
import { RelayEnvironmentProvider, useLazyLoadQuery, usePaginationFragment } from 'react-relay';
import { create } from 'react-test-renderer';
import {
  ConnectionHandler,
  Environment,
  fetchQuery,
  Network,
  Observable,
  RecordSource,
  requestSubscription,
  Store,
  type GraphQLResponse,
} from 'relay-runtime';
import WebSocket from 'ws';
import { compileRelay } from './compile-relay.js';
import { startMovingFeed, type MovingFeed } from './moving-feed.js';

// The recipes of docs/frontends.md, run by Relay itself.

const DOCUMENTS = `
  query feedQuery($first: Int!) {
    ...feed_timeline @arguments(first: $first)
  }
  fragment feed_timeline on Query
  @refetchable(queryName: "feedPageQuery")
  @argumentDefinitions(first: { type: "Int", defaultValue: 20 }, after: { type: "String" }) {
    timelineFeed(first: $first, after: $after) @connection(key: "feed_timelineFeed") {
      edges { cursor node { id contentId text author { displayName } counters { likes } } }
      pageInfo { hasNextPage endCursor startCursor }
    }
  }
  query feedGapQuery($before: String!) {
    timelineFeed(last: 100, before: $before) {
      edges { cursor node { id contentId text author { displayName } counters { likes } } }
      pageInfo { hasPreviousPage startCursor }
    }
  }
  query feedRepostsQuery($first: Int!, $after: String) {
    timelineFeed(first: $first, after: $after) { edges { node { id contentId repostOf { contentId } } } }
  }
  subscription feedNewerSubscription($since: String) {
    timelineUpdated(since: $since) { newerCount hasMore }
  }
`;
const NAMES = ['feedQuery', 'feed_timeline', 'feedGapQuery', 'feedRepostsQuery', 'feedNewerSubscription'] as const;

let feed: MovingFeed;
let artifacts: Awaited<ReturnType<typeof compileRelay<(typeof NAMES)[number]>>>;
let socket: ReturnType<typeof createClient>;

beforeAll(async () => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  // The renderer for tests without a browser says that it is deprecated; nothing else may complain.
  jest.spyOn(console, 'error').mockImplementation((text: unknown) => {
    if (!String(text).includes('react-test-renderer is deprecated')) throw new Error(String(text));
  });
  feed = await startMovingFeed();
  artifacts = await compileRelay(feed.stack, DOCUMENTS, NAMES);
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

const createEnvironment = (): Environment =>
  new Environment({
    store: new Store(new RecordSource()),
    network: Network.create(
      async ({ text }, variables) =>
        (await feed.stack.post(text as string, variables, feed.token)).body as unknown as GraphQLResponse,
      ({ text }, variables) =>
        Observable.create((sink) =>
          socket.subscribe(
            { query: text as string, variables },
            { ...sink, next: (result) => sink.next(result as GraphQLResponse) },
          ),
        ),
    ),
  });

/** What the screen of an application holds: the hook's last answer. */
interface Screen {
  readonly ids: () => string[];
  readonly cursors: () => { startCursor: string; endCursor: string; hasNextPage: boolean };
  readonly hasNext: () => boolean;
  loadNext(count: number): Promise<void>;
  refresh(count: number): Promise<void>;
  close(): Promise<void>;
}

async function openScreen(environment: Environment, first: number): Promise<Screen> {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the assertions are the type check
  let hook: any;
  const Feed = ({ query }: { query: unknown }) => {
    hook = usePaginationFragment(artifacts.feed_timeline, query as never);
    return null;
  };
  const App = () => createElement(Feed, { query: useLazyLoadQuery(artifacts.feedQuery, { first }) });
  const loaded = createElement(Suspense, { fallback: null }, createElement(App));
  let root!: { unmount(): void };
  await act(async () => {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the one renderer that needs no browser
    root = create(createElement(RelayEnvironmentProvider, { environment } as never, loaded));
  });
  const until = (start: (done: () => void) => void) => act(() => new Promise<void>((resolve) => start(resolve)));
  while (hook === undefined) await act(() => new Promise((resolve) => setTimeout(resolve, 5)));
  return {
    ids: () => hook.data.timelineFeed.edges.map((edge: { node: { contentId: string } }) => edge.node.contentId),
    cursors: () => hook.data.timelineFeed.pageInfo,
    hasNext: () => hook.hasNext,
    loadNext: (count) => until((done) => hook.loadNext(count, { onComplete: done })),
    async refresh(count) {
      const before = hook.data.timelineFeed;
      await act(async () => hook.refetch({ first: count }, { fetchPolicy: 'network-only' }));
      while (hook.data.timelineFeed === before) await act(() => new Promise((resolve) => setTimeout(resolve, 5)));
    },
    close: () => act(async () => root.unmount()),
  };
}

test.each([1, 7, 50])(
  'infinite scroll, %i a page: nothing twice, and nothing skipped that stood still',
  async (size) => {
    const screen = await openScreen(createEnvironment(), size);
    while (screen.hasNext()) {
      await feed.disturb(size);
      await screen.loadNext(size);
    }
    const ids = screen.ids();
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => feed.standing.includes(id))).toEqual(feed.standing);
    await screen.close();
  },
  180_000,
);

test('"N new posts" is told by the subscription, and a refresh shows them', async () => {
  const environment = createEnvironment();
  const screen = await openScreen(environment, 5);
  const counts: number[] = [];
  const listen = (since: string) =>
    requestSubscription<never>(environment, {
      subscription: artifacts.feedNewerSubscription,
      variables: { since },
      onNext: (data: unknown) =>
        counts.push((data as { timelineUpdated: { newerCount: number } }).timelineUpdated.newerCount),
    } as never);
  const untilCount = async (count: number) => {
    while (counts.at(-1) !== count) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const old = listen(screen.cursors().startCursor);
  await untilCount(0);
  const newest = [await feed.publish(), await feed.publish()];
  await untilCount(2);
  await screen.refresh(5);
  expect(screen.ids().slice(0, 2)).toEqual(newest.reverse());
  old.dispose();
  const again = listen(screen.cursors().startCursor);
  await untilCount(0);
  again.dispose();
  await screen.close();
});

test('a gap above what is shown is filled without loading the rest anew', async () => {
  const environment = createEnvironment();
  const screen = await openScreen(environment, 5);
  const before = screen.ids();
  const missed = [await feed.publish(), await feed.publish(), await feed.publish()].reverse();
  const { startCursor } = screen.cursors();
  const gap = (await fetchQuery(environment, artifacts.feedGapQuery, { before: startCursor }).toPromise()) as never as {
    timelineFeed: { edges: { cursor: string; node: { id: string } }[]; pageInfo: { startCursor: string } };
  };
  await act(async () =>
    environment.commitUpdate((store) => {
      const connection = ConnectionHandler.getConnection(store.getRoot(), 'feed_timelineFeed');
      for (const { cursor, node } of [...gap.timelineFeed.edges].reverse()) {
        const edge = ConnectionHandler.createEdge(store, connection!, store.get(node.id)!, 'TimelineEdge');
        edge.setValue(cursor, 'cursor');
        ConnectionHandler.insertEdgeBefore(connection!, edge);
      }
      connection!.getLinkedRecord('pageInfo').setValue(gap.timelineFeed.pageInfo.startCursor, 'startCursor');
    }),
  );
  expect(screen.ids()).toEqual([...missed, ...before]);
  await screen.close();
});

test('an error code arrives with the error; a service that is away costs its fields and not the page', async () => {
  const environment = createEnvironment();
  const read = (variables: object) =>
    fetchQuery(environment, artifacts.feedRepostsQuery, variables as never).toPromise();
  const error = await read({ first: 2, after: 'x' }).catch((thrown: unknown) => thrown);
  expect((error as { source: GraphQLResponse }).source).toMatchObject({
    errors: [{ extensions: { code: 'INVALID_CURSOR' } }],
  });
  await feed.stack.running.social.close();
  const page = (await read({ first: 2 })) as never as { timelineFeed: { edges: object[] } };
  expect(page.timelineFeed.edges).toEqual([
    { node: expect.objectContaining({ repostOf: null }) },
    { node: expect.objectContaining({ repostOf: null }) },
  ]);
});
