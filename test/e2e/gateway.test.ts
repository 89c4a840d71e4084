import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { GraphQLError } from 'graphql';
import { forbidden, invalidCursor } from '../../src/domain/errors.js';
import { startGateway, type GatewaySettings } from '../../src/gateway/server.js';
import type { RunningServer } from '../../src/http.js';
import { findProjectFile } from '../../src/project-files.js';
import {
  createTestLog,
  postGraphql,
  startTinySubgraph,
  testConfig,
  testProductionConfig,
  tokenFor,
} from '../harness/tiny-subgraphs.js';

interface Context {
  readonly viewer: { userId: bigint } | null;
  readonly requestId: string;
}

const content = (contentId: string) => ({
  id: contentId,
  contentId,
  text: `text ${contentId}`,
  media: [],
  counters: null,
});
let published = 0;
let seenRequestId = '';
let release: () => void = () => undefined;
let onSlow: () => void = () => undefined;

const timelineResolvers = {
  Query: {
    timelineFeed: async (_: unknown, { after }: { after?: string }, { viewer, requestId }: Context) => {
      seenRequestId = requestId;
      if (after === 'bad') throw invalidCursor('This cursor is not valid.');
      if (after === 'slow') {
        await new Promise<void>((resolve) => {
          release = resolve;
          onSlow();
        });
      }
      if (after === 'boom') throw new Error('connect ECONNREFUSED 10.9.8.7:5432 SELECT * FROM inbox');
      if (after === 'library') throw new GraphQLError('http://10.9.8.7/ said no', { extensions: { code: 'TEAPOT' } });
      const edges = ['1', '2'].map((id) => ({ cursor: id, node: content(id) }));
      return {
        edges: viewer ? edges : [],
        pageInfo: { hasNextPage: false, hasPreviousPage: false },
        isComplete: true,
        emptyReason: viewer ? null : 'NO_FOLLOWEES',
      };
    },
  },
};

const socialResolvers = {
  Query: {
    viewer: (_: unknown, __: unknown, { viewer }: Context) =>
      viewer && { id: `U${viewer.userId}`, userId: viewer.userId.toString(), handle: 'ann', displayName: 'Ann' },
    user: async () => {
      throw forbidden('Not yours.');
    },
  },
  Mutation: {
    publishContent: () => {
      published += 1;
      return { content: content('9') };
    },
  },
  Content: {
    // Either key may come.
    __resolveReference: async ({ contentId, id }: { contentId?: string; id?: string }) =>
      content(contentId ?? id ?? ''),
    repostOf: async ({ contentId }: { contentId: string }) => {
      if (contentId === '2') throw forbidden('This original is not for you.');
      return null;
    },
  },
};

const config = testConfig();
const { log, lines } = createTestLog();
const unused = 'http://127.0.0.1:9/graphql';
let social: RunningServer;
let timeline: RunningServer;
let gateway: RunningServer;

const start = (settings: Partial<GatewaySettings> = {}) =>
  startGateway({
    config,
    log,
    supergraphPath: findProjectFile('schema/supergraph.graphql'),
    subgraphUrls: { social: `${social.url}/graphql`, timeline: `${timeline.url}/graphql` },
    port: 0,
    ...settings,
  });

beforeAll(async () => {
  social = await startTinySubgraph('social', socialResolvers, { log });
  timeline = await startTinySubgraph('timeline', timelineResolvers, { log });
  gateway = await start();
});
afterAll(async () => {
  await gateway.close();
  await timeline.close();
  await social.close();
});
beforeEach(() => {
  published = 0;
});

describe('through the gateway', () => {
  test('one query reads from both subgraphs as the viewer of the token', async () => {
    const { status, body } = await postGraphql(
      gateway.url,
      '{ viewer { userId } timelineFeed { edges { node { contentId text repostOf { id } } } } }',
      { token: await tokenFor(7n), headers: { 'x-request-id': 'from-the-client' } },
    );
    expect(status).toBe(200);
    expect(body.data?.['viewer']).toEqual({ userId: '7' });
    expect(body.data?.['timelineFeed']).toMatchObject({
      edges: [{ node: { contentId: '1' } }, { node: { contentId: '2' } }],
    });
    expect(seenRequestId).toBe('from-the-client');
  });

  test('an error in one row of an entity keeps its code, message and path and costs that row only', async () => {
    const { body } = await postGraphql(gateway.url, '{ timelineFeed { edges { node { text repostOf { id } } } } }', {
      token: await tokenFor(7n),
    });
    expect(body.errors).toEqual([
      {
        message: 'This original is not for you.',
        path: ['timelineFeed', 'edges', 1, 'node', 'repostOf'],
        extensions: { code: 'FORBIDDEN' },
      },
    ]);
    expect(body.data).toMatchObject({
      timelineFeed: { edges: [{ node: { text: 'text 1' } }, { node: { text: 'text 2', repostOf: null } }] },
    });
  });

  test('an error of ours keeps its code, message and path', async () => {
    const { body } = await postGraphql(gateway.url, '{ timelineFeed(after: "bad") { edges { cursor } } }');
    expect(body).toEqual({
      data: null,
      errors: [
        { message: 'This cursor is not valid.', path: ['timelineFeed'], extensions: { code: 'INVALID_CURSOR' } },
      ],
    });
    expect((await postGraphql(gateway.url, '{ u: user(userId: "1") { id } }')).body).toEqual({
      data: { u: null },
      errors: [{ message: 'Not yours.', path: ['u'], extensions: { code: 'FORBIDDEN' } }],
    });
  });

  test.each(['boom', 'library'])('internals (%s) are masked', async (how) => {
    const { text, body } = await postGraphql(
      gateway.url,
      '{ timelineFeed(after: "' + how + '") { edges { cursor } } }',
    );
    expect(body.errors).toEqual([
      { message: 'Something went wrong.', path: ['timelineFeed'], extensions: { code: 'INTERNAL_SERVER_ERROR' } },
    ]);
    expect(text).not.toMatch(/ECONN|SELECT|127\.0\.0\.1|10\.9\.8\.7|stack|serviceName/);
  });

  test('requests that GraphQL refuses have the codes that clients know', async () => {
    const codeOf = async (query: string, variables = {}) =>
      (await postGraphql(gateway.url, query, { variables })).body.errors?.[0]?.extensions;
    expect(await codeOf('{ viewer ')).toEqual({ code: 'GRAPHQL_PARSE_FAILED' });
    expect(await codeOf('{ viewerr }')).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED' });
    expect(await codeOf('query ($n: Int) { timelineFeed(first: $n) { edges { cursor } } }', { n: 'x' })).toEqual({
      code: 'BAD_USER_INPUT',
    });
    expect(await codeOf('query ($c: ID!) { content(contentId: $c) { id } }')).toEqual({ code: 'BAD_USER_INPUT' });
    expect(await codeOf(`{ ${'__typename '.repeat(5_000)} }`)).toEqual({ code: 'GRAPHQL_PARSE_FAILED' });
    const nested = `{ viewer { ${'contents { edges { node { author { '.repeat(5)} id ${'} } } } '.repeat(5)} } }`;
    expect(await codeOf(nested)).toEqual({ code: 'OPERATION_TOO_COMPLEX' });
  });

  test('two viewers who ask the same at the same moment get their own answers', async () => {
    const ask = async (userId: bigint) =>
      (await postGraphql(gateway.url, '{ viewer { userId } }', { token: await tokenFor(userId) })).body.data?.[
        'viewer'
      ];
    const userIds = Array.from({ length: 20 }, (_, index) => BigInt(index + 1));
    expect(await Promise.all(userIds.map(ask))).toEqual(userIds.map((id) => ({ userId: id.toString() })));
  });

  test('a bad token stops the operation before any subgraph hears of it', async () => {
    const { body } = await postGraphql(
      gateway.url,
      'mutation { publishContent(input: { text: "x" }) { content { id } } }',
      {
        token: `${await tokenFor(7n)}x`,
      },
    );
    expect(body).toEqual({ errors: [{ message: 'The token is not valid.', extensions: { code: 'UNAUTHENTICATED' } }] });
    expect(published).toBe(0);
  });
});

describe('what the gateway refuses', () => {
  test('a body of 10 MB, with a code, changing nothing', async () => {
    const text = 'x'.repeat(10 * 1024 * 1024);
    const { status, body } = await postGraphql(
      gateway.url,
      'mutation ($text: String!) { publishContent(input: { text: $text }) { content { id } } }',
      { variables: { text } },
    );
    expect({ status, code: body.errors?.[0]?.extensions.code }).toEqual({ status: 413, code: 'BAD_USER_INPUT' });
    expect(published).toBe(0);
  });

  test.each([
    ['a batch', 'application/json', '[{"query":"{ viewer { id } }"}]'],
    ['not JSON', 'application/json', '{"query":'],
    ['JSON that is no operation', 'application/json', '{"a":1}'],
    ['an empty body', 'application/json', ''],
    ['a form', 'application/x-www-form-urlencoded', 'query={viewer{id}}'],
    ['plain text', 'text/plain', '{"query":"{ viewer { id } }"}'],
  ])('%s, with a code', async (_, type, body) => {
    const response = await fetch(`${gateway.url}/graphql`, { method: 'POST', headers: { 'content-type': type }, body });
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] });
    expect(text).not.toMatch(/stack|node_modules|originalError/);
  });

  test('a mutation by GET', async () => {
    const query = encodeURIComponent('mutation { publishContent(input: { text: "x" }) { content { id } } }');
    const response = await fetch(`${gateway.url}/graphql?query=${query}`, { headers: { accept: 'application/json' } });
    expect(response.status).toBe(405);
    expect(published).toBe(0);
  });
});

describe('a subgraph that fails', () => {
  const query = '{ viewer { handle } timelineFeed { edges { node { text repostOf { id } } } } }';

  test('down from the start: the rest answers, with a code and a path and no address; it is used once it is up', async () => {
    const port = await findFreePort();
    const late = `http://127.0.0.1:${port}/graphql`;
    const own = await start({ subgraphUrls: { social: late, timeline: `${timeline.url}/graphql` } });
    expect((await fetch(`${own.url}/health/ready`)).status).toBe(200);
    const { status, body, text } = await postGraphql(own.url, query, { token: await tokenFor(7n) });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ viewer: null, timelineFeed: { edges: [{ node: { text: 'text 1' } }, {}] } });
    expect(body.errors).toContainEqual({
      message: 'A service behind this field is unavailable.',
      path: ['viewer'],
      extensions: { code: 'SERVICE_UNAVAILABLE' },
    });
    expect(body.errors?.every((error) => error.extensions.code === 'SERVICE_UNAVAILABLE' && error.path)).toBe(true);
    expect(text).not.toMatch(/127\.0\.0\.1|ECONN|http:|query|social/);

    const socialAgain = await startTinySubgraph('social', socialResolvers, { log, port });
    expect((await postGraphql(own.url, query, { token: await tokenFor(7n) })).body).toMatchObject({
      data: { viewer: { handle: 'ann' } },
    });
    await own.close();
    await socialAgain.close();
  });

  test('down: a nullable field becomes null and one that is not takes its parent with it', async () => {
    const own = await start({ subgraphUrls: { social: unused, timeline: unused } });
    const down = {
      message: 'A service behind this field is unavailable.',
      extensions: { code: 'SERVICE_UNAVAILABLE' },
    };
    expect((await postGraphql(own.url, '{ me: viewer { handle } }')).body).toEqual({
      data: { me: null },
      errors: [{ ...down, path: ['me'] }],
    });
    expect((await postGraphql(own.url, '{ timelineFeed { edges { cursor } } }')).body).toEqual({
      data: null,
      errors: [{ ...down, path: ['timelineFeed'] }],
    });
    await own.close();
  });

  test.each<[string, http.RequestListener]>([
    ['answers with a page of a proxy', (_, response) => response.writeHead(502).end('<html>10.1.1.1 is down</html>')],
    ['answers with an empty object', (_, response) => response.end('{}')],
    ['closes the connection', (request) => request.socket.destroy()],
    ['does not answer', () => undefined],
  ])('%s: SERVICE_UNAVAILABLE', async (_, listener) => {
    const broken = http.createServer(listener).listen(0, '127.0.0.1');
    await once(broken, 'listening');
    const { port } = broken.address() as AddressInfo;
    const own = await start({
      config: testConfig({ SUBGRAPH_TIMEOUTS_MS: 'social=200' }),
      subgraphUrls: { social: `http://127.0.0.1:${port}/graphql`, timeline: `${timeline.url}/graphql` },
    });
    const { status, body, text } = await postGraphql(own.url, query);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: { viewer: null, timelineFeed: { edges: [] } },
      errors: [
        {
          message: 'A service behind this field is unavailable.',
          path: ['viewer'],
          extensions: { code: 'SERVICE_UNAVAILABLE' },
        },
      ],
    });
    expect(text).not.toContain('10.1.1.1');
    await own.close();
    broken.closeAllConnections();
    broken.close();
  });

  test('what the client does not see is in the log', () => {
    expect(lines()).toContain('ECONNREFUSED');
    expect(lines()).toContain('no answer within 200 ms');
    expect(lines()).not.toMatch(/Bearer|eyJ/);
  });
});

describe('start and stop', () => {
  test('health', async () => {
    expect(await (await fetch(`${gateway.url}/health/live`)).json()).toEqual({ status: 'live' });
    expect(await (await fetch(`${gateway.url}/health/ready`)).json()).toMatchObject({ status: 'ready' });
  });

  test('a taken port gives one message with the port and its setting', async () => {
    const port = Number(new URL(gateway.url).port);
    await expect(start({ port })).rejects.toThrow(
      `Port 127.0.0.1:${port} is taken. Stop what uses it, or set GATEWAY_PORT to another port.`,
    );
  });

  test('a stop lets the request in flight end', async () => {
    const own = await start();
    const started = new Promise<void>((resolve) => {
      onSlow = resolve;
    });
    const answer = postGraphql(own.url, '{ timelineFeed(after: "slow") { edges { cursor } } }');
    await started;
    const closed = own.close();
    release();
    expect((await answer).body).toEqual({ data: { timelineFeed: { edges: [] } } });
    await closed;
  });

  test('no library listens to signals, which would cut requests short', async () => {
    const listeners = () => ['SIGINT', 'SIGTERM', 'exit'].map((name) => process.listenerCount(name));
    const before = listeners();
    const own = await start();
    await postGraphql(own.url, '{ viewer { userId } }');
    expect(listeners()).toEqual(before);
    await own.close();
  });
});

describe('GraphiQL', () => {
  const html = { headers: { accept: 'text/html' } };

  test('in development it comes whole from here, with a first query and a token to run it', async () => {
    const own = await start({ graphiqlToken: 'token-of-this-test' });
    const response = await fetch(`${own.url}/graphql`, html);
    const page = await response.text();
    expect(response.headers.get('content-type')).toContain('text/html');
    expect(page).toContain('timelineFeed(first: 10)');
    expect(page).toContain('token-of-this-test');
    expect(page.match(/<(script|link|img|iframe)[^>]*(src|href)="(https?:)?\/\//)).toBeNull();
    expect(page.match(/@import|url\(["']?(https?:)?\/\//)).toBeNull();
    await own.close();
  });

  test('in production there is none, no introspection and no similar names', async () => {
    const own = await start({ config: testProductionConfig() });
    expect(await (await fetch(`${own.url}/graphql`, html)).text()).not.toContain('<html');
    expect((await postGraphql(own.url, '{ __schema { types { name } } }')).body.data).toBeUndefined();
    expect((await postGraphql(own.url, '{ viewerr { id } }')).text).not.toContain('Did you mean');
    await own.close();
  });
});

async function findFreePort(): Promise<number> {
  const server = http.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
