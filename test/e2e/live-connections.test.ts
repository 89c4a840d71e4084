import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { mintToken } from '../../src/identity.js';
import { startGateway } from '../../src/gateway/server.js';
import { findProjectFile } from '../../src/project-files.js';
import { handshakeStatus, openEvents, openSocket, type LiveClient, type OpenLive } from '../harness/live.js';
import { follow, startStack, user, type Stack } from '../harness/stack.js';
import { createTestLog, startTinySubgraph, testConfig, tokenFor } from '../harness/tiny-subgraphs.js';

const SUBSCRIBE = 'subscription { timelineUpdated { newerCount hasMore } }';
const PUBLISH = 'mutation { publishContent(input: { text: "x" }) { content { id } } }';
const INTERVAL_MS = 300;
const SETTINGS = { LIVE_CONNECTIONS_MAX: '4', LIVE_PER_VIEWER: '2', LIVE_INTERVAL_MS: String(INTERVAL_MS) };
const TRANSPORTS: readonly [string, OpenLive][] = [
  ['server-sent events', openEvents],
  ['graphql-ws', openSocket],
];

let stack: Stack;
const clients: LiveClient[] = [];
beforeAll(async () => {
  stack = await startStack(SETTINGS, { roles: [] });
  await stack.importAll([user('1'), user('2'), follow('1', '2')]);
});
afterAll(() => stack.close());
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  // Their places are free once the timeline subgraph has seen them go.
  while ((await openTimelines()) > 0) await new Promise(setImmediate);
});

const openTimelines = async (): Promise<number> => (await stack.app.meters.liveTimelines.get()).values[0]?.value ?? 0;

async function openAs(open: OpenLive, viewer: string, url = stack.url): Promise<LiveClient> {
  const client = await open({ url, token: await stack.tokenFor(viewer), query: SUBSCRIBE });
  clients.push(client);
  return client;
}

/** The code of the next result, or of the close event. */
const ending = async (client: LiveClient): Promise<unknown> =>
  client.next().then(
    (result) => (result ? (result.errors?.[0]?.extensions?.['code'] ?? 'a result') : 'complete'),
    (error: unknown) => (error as { code?: unknown }).code,
  );

describe.each(TRANSPORTS)('by %s', (name, open) => {
  test('there is room for so many connections and no more, until one ends', async () => {
    const open4 = await Promise.all(['1', '1', '2', '2'].map((viewer) => openAs(open, viewer)));
    for (const client of open4) await client.next();
    await expect(openAs(openEvents, '3')).rejects.toThrow(/^503 .*SERVICE_UNAVAILABLE/);
    expect(await handshakeStatus(stack.url)).toBe(503);
    // Queries need no room.
    expect((await stack.ask('1', '{ viewer { userId } }')).viewer).toEqual({ userId: '1' });
    await open4[0]!.close();
    for (;;) {
      const retry = await openAs(openEvents, '3').catch(() => null);
      if (retry) break;
    }
  });

  test('one viewer has only some of it', async () => {
    for (const client of [await openAs(open, '1'), await openAs(open, '1')]) await client.next();
    expect(await ending(await openAs(open, '1'))).toBe('RATE_LIMITED');
    expect(await ending(await openAs(open, '2'))).toBe('a result');
  });

  test('who changes often is told together, with so much time between', async () => {
    const client = await openAs(open, '1');
    const times: number[] = [];
    let count: number | undefined;
    const read = async () => {
      count = (await client.next())?.data.timelineUpdated.newerCount as number;
      times.push(performance.now());
    };
    await read();
    const published = Promise.all(Array.from({ length: 20 }, () => stack.ask('2', PUBLISH)));
    while (count !== 20) await read();
    await published;
    // They are sent so far apart; one interval is left for how long the first one was under way.
    expect(times.at(-1)! - times[0]!).toBeGreaterThan((times.length - 2) * INTERVAL_MS);
  });

  test('it ends with its token', async () => {
    const expiresIn = Math.floor(Date.now() / 1000) + 3;
    const token = await mintToken(stack.app.config, 1n, { expiresIn });
    const client = await open({ url: stack.url, token, query: SUBSCRIBE });
    clients.push(client);
    expect(await ending(client)).toBe('a result');
    expect(await ending(client)).toBe(name === 'graphql-ws' ? 4403 : 'UNAUTHENTICATED');
    expect(Date.now()).toBeGreaterThanOrEqual(expiresIn * 1000);
  });

  test('the timeline subgraph itself serves it as well', async () => {
    const client = await openAs(open, '1', stack.running.timeline.url);
    expect((await client.next())?.data).toEqual({ timelineUpdated: { newerCount: 0, hasMore: false } });
    await stack.ask('2', PUBLISH);
    expect((await client.next())?.data).toEqual({ timelineUpdated: { newerCount: 1, hasMore: false } });
  });
});

test('without a token, or with a bad one, nothing is told', async () => {
  const { url } = stack;
  expect(await ending(await openEvents({ url, query: SUBSCRIBE }))).toBe('UNAUTHENTICATED');
  await expect(openEvents({ url, query: SUBSCRIBE, token: 'x.y.z' })).rejects.toThrow(/"code":"UNAUTHENTICATED"/);
  expect(await ending(await openSocket({ url, query: SUBSCRIBE }))).toBe(4403);
  expect(await ending(await openSocket({ url, query: SUBSCRIBE, token: 'x.y.z' }))).toBe(4403);
});

test('by WebSocket only subscriptions are answered, and nothing else is done', async () => {
  for (const url of [stack.url, stack.running.social.url]) {
    const before = await stack.countAll();
    const client = await openSocket({ url, query: PUBLISH, token: await stack.tokenFor('2') });
    expect(await ending(client)).toBe('BAD_USER_INPUT');
    await client.close();
    expect(await stack.countAll()).toEqual(before);
  }
});

test('a server that stops ends what is open without delay, and clients know that it was no end of their own', async () => {
  const own = await startStack(SETTINGS, { roles: [] });
  const token = await own.tokenFor('1');
  const [events, socket] = await Promise.all(
    [openEvents, openSocket].map((open) => open({ url: own.url, token, query: SUBSCRIBE })),
  );
  for (const client of [events, socket]) await client!.next();
  const startedAt = performance.now();
  await own.close();
  // Far below SHUTDOWN_TIMEOUT_MS, after which connections are cut.
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(await ending(events!)).toBe('SERVICE_UNAVAILABLE');
  expect(await ending(socket!)).toBe(1001);
});

describe('what a subgraph says', () => {
  const resolvers = (subscribe: () => AsyncIterable<unknown>) => ({
    Subscription: { timelineUpdated: { subscribe, resolve: (value: unknown) => value } },
  });
  const { log, lines } = createTestLog();
  let subscribe: () => AsyncIterable<unknown>;
  let stopSubgraph: () => Promise<void>;
  let stopGateway: () => Promise<void>;
  let url: string;

  beforeEach(async () => {
    const timeline = await startTinySubgraph(
      'timeline',
      resolvers(() => subscribe()),
      { log },
    );
    const gateway = await startGateway({
      config: testConfig(),
      log,
      supergraphPath: findProjectFile('schema/supergraph.graphql'),
      subgraphUrls: { timeline: `${timeline.url}/graphql`, social: 'http://127.0.0.1:9/graphql' },
      port: 0,
    });
    url = gateway.url;
    stopSubgraph = () => timeline.close();
    stopGateway = () => gateway.close();
  });
  afterEach(async () => {
    await stopGateway();
    await stopSubgraph();
  });

  test.each(TRANSPORTS)('by %s: internals stay inside, and each event stands for itself', async (_, open) => {
    subscribe = async function* () {
      yield { newerCount: 1, hasMore: false };
      yield { newerCount: 'SELECT 10.9.8.7', hasMore: false };
      yield { newerCount: 2, hasMore: false };
    };
    const client = await open({ url, token: await tokenFor(7n), query: SUBSCRIBE });
    expect(await client.next()).toEqual({ data: { timelineUpdated: { newerCount: 1, hasMore: false } } });
    expect((await client.next())?.errors).toEqual([
      {
        message: 'Something went wrong.',
        path: ['timelineUpdated', 'newerCount'],
        extensions: { code: 'INTERNAL_SERVER_ERROR' },
      },
    ]);
    expect((await client.next())?.data).toEqual({ timelineUpdated: { newerCount: 2, hasMore: false } });
    expect(await client.next()).toBeNull();
    await client.close();
    expect(lines()).toContain('10.9.8.7');
    expect(lines()).not.toMatch(/Bearer|eyJ/);
  });

  test.each(TRANSPORTS)('by %s: a subgraph that goes away breaks the stream off', async (_, open) => {
    subscribe = async function* () {
      yield { newerCount: 1, hasMore: false };
      await new Promise(() => undefined);
    };
    const client = await open({ url, token: await tokenFor(7n), query: SUBSCRIBE });
    await client.next();
    await stopSubgraph();
    // Of readEvents: the stream ended without `complete`. After 1013 a client of graphql-ws connects again.
    expect(await ending(client)).toEqual(open === openSocket ? 1013 : 'SERVICE_UNAVAILABLE');
    stopSubgraph = async () => undefined;
  });

  test('a subgraph that is down is told as for a query', async () => {
    subscribe = async function* () {
      yield { newerCount: 1, hasMore: false };
    };
    const down = await startGateway({
      config: testConfig(),
      log,
      supergraphPath: findProjectFile('schema/supergraph.graphql'),
      subgraphUrls: { timeline: 'http://127.0.0.1:9/graphql', social: 'http://127.0.0.1:9/graphql' },
      port: 0,
    });
    for (const [, open] of TRANSPORTS) {
      const client = await open({ url: down.url, token: await tokenFor(7n), query: SUBSCRIBE });
      expect(await ending(client)).toBe('SERVICE_UNAVAILABLE');
      await client.close();
    }
    await down.close();
  });
});

describe.each(TRANSPORTS)('points, by %s', (_, open) => {
  test('a viewer who has used up the points is told RATE_LIMITED', async () => {
    const limited = await startStack(
      { ...SETTINGS, QUERY_COST_MAX: '10', RATE_LIMIT_BURST: '10', RATE_LIMIT_PER_SECOND: '1' },
      { roles: [] },
    );
    try {
      await limited.importAll([user('1'), user('2')]);
      const codeOf = async (viewer: string): Promise<string> => {
        const request = { url: limited.url, token: await limited.tokenFor(viewer), query: SUBSCRIBE };
        const client = await open(request).catch((error: unknown) => String(error));
        if (typeof client === 'string') return client;
        const code = String(await ending(client));
        await client.close();
        return code;
      };
      const codes: string[] = [];
      while (!codes.at(-1)?.includes('RATE_LIMITED') && codes.length < 30) codes.push(await codeOf('1'));
      expect(codes.at(-1)).toContain('RATE_LIMITED');
    } finally {
      await limited.close();
    }
  });
});
