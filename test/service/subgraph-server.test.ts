import net from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { GraphQLError } from 'graphql';
import { badInput, unavailable } from '../../src/domain/errors.js';
import { createHttpServer, StartError, type RunningServer } from '../../src/http.js';
import {
  createTestLog,
  postGraphql,
  startTinySubgraph,
  testConfig,
  testProductionConfig,
  tokenFor,
  writeTempFile,
} from '../harness/tiny-subgraphs.js';

const typeDefs = writeTempFile(
  'tiny.graphql',
  `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@key"])
  type Query { who: String fails(how: String!): String many(n: Int!): [Int] slow: String }
  type Mutation { change: Int! }
`,
);
let changes = 0;
const slow = { started: deferred(), release: deferred() };
const failures: Record<string, () => unknown> = {
  badInput: () => badInput('first must be at least 0'),
  sql: () => new Error('syntax error at or near "SELECT secret FROM accounts" at 10.1.2.3:5432'),
  library: () =>
    new GraphQLError('a library says postgres://user:pw@host', {
      extensions: { code: 'BAD_USER_INPUT', stacktrace: ['x'] },
    }),
  source: () => unavailable('Counters are unavailable.', new Error('connect ECONNREFUSED 10.1.2.3:6379')),
  string: () => 'a thrown string with SQL',
};
const resolvers = {
  Query: {
    who: (_: unknown, __: unknown, { viewer }: { viewer: { userId: bigint } | null }) =>
      viewer?.userId.toString() ?? null,
    fails: async (_: unknown, { how }: { how: string }) => {
      throw failures[how]?.();
    },
    many: (_: unknown, { n }: { n: number }) => Array.from({ length: n }, (__, index) => index),
    slow: async () => {
      slow.started.resolve();
      await slow.release.promise;
      return 'done';
    },
  },
  Mutation: { change: () => ++changes },
};

const { log, lines } = createTestLog();
const start = (settings: Parameters<typeof startTinySubgraph>[2] = {}) =>
  startTinySubgraph('timeline', resolvers, { typeDefs, log, ...settings });
let server: RunningServer;
beforeAll(async () => {
  server = await start();
});
afterAll(() => server.close());

describe('identity at a subgraph', () => {
  test('a good token names the viewer and no token is nobody', async () => {
    expect((await postGraphql(server.url, '{ who }')).body).toEqual({ data: { who: null } });
    expect((await postGraphql(server.url, '{ who }', { token: await tokenFor(9n) })).body).toEqual({
      data: { who: '9' },
    });
  });

  test('a bad token stops the operation before anything of it runs', async () => {
    const before = changes;
    const { status, body } = await postGraphql(server.url, 'mutation { change }', { token: 'bad' });
    expect({ status, body }).toEqual({
      status: 200,
      body: { errors: [{ message: 'The token is not valid.', extensions: { code: 'UNAUTHENTICATED' } }] },
    });
    expect(changes).toBe(before);
  });

  test('a client that knows GraphQL over HTTP gets 401', async () => {
    const accept = 'application/graphql-response+json';
    const { status, headers } = await postGraphql(server.url, '{ who }', { token: 'bad', headers: { accept } });
    expect({ status, type: headers.get('content-type') }).toEqual({
      status: 401,
      type: expect.stringContaining(accept),
    });
  });
});

describe('errors at a subgraph', () => {
  const fail = async (how: string) => (await postGraphql(server.url, '{ fails(how: "' + how + '") }')).body;

  test('an error of ours keeps its code, message and path', async () => {
    expect(await fail('badInput')).toEqual({
      data: { fails: null },
      errors: [
        {
          message: 'first must be at least 0',
          locations: expect.anything(),
          path: ['fails'],
          extensions: { code: 'BAD_USER_INPUT' },
        },
      ],
    });
    expect((await fail('source')).errors?.[0]).toMatchObject({ extensions: { code: 'SERVICE_UNAVAILABLE' } });
  });

  test.each(['sql', 'library', 'string'])(
    'what is not ours (%s) is INTERNAL_SERVER_ERROR and says nothing',
    async (how) => {
      expect((await fail(how)).errors).toEqual([
        {
          message: 'Something went wrong.',
          locations: expect.anything(),
          path: ['fails'],
          extensions: { code: 'INTERNAL_SERVER_ERROR' },
        },
      ]);
    },
  );

  test('what the client does not see is in the log with the request id', async () => {
    await postGraphql(server.url, '{ fails(how: "sql") }', { headers: { 'x-request-id': 'request-of-this-test' } });
    const line = lines()
      .split('\n')
      .find((text) => text.includes('request-of-this-test'));
    expect(line).toContain('SELECT secret');
    expect(lines()).toContain('ECONNREFUSED 10.1.2.3:6379');
  });

  test('syntax, validation and variables have the codes that clients know', async () => {
    const codeOf = async (query: string, variables = {}) =>
      (await postGraphql(server.url, query, { variables })).body.errors?.[0]?.extensions;
    expect(await codeOf('{ who ')).toEqual({ code: 'GRAPHQL_PARSE_FAILED' });
    expect(await codeOf('{ whoo }')).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED' });
    expect(await codeOf('query ($n: Int!) { many(n: $n) }', { n: 'three' })).toEqual({ code: 'BAD_USER_INPUT' });
    expect(await codeOf('query A { who } query B { who }')).toEqual({ code: 'BAD_USER_INPUT' });
    expect(await codeOf(`{ ${'who '.repeat(5_000)} }`)).toEqual({ code: 'GRAPHQL_PARSE_FAILED' });
  });
});

describe('requests at a subgraph', () => {
  test('a body of 10 MB is refused with a code and changes nothing', async () => {
    const before = changes;
    const { status, body } = await postGraphql(server.url, `mutation { change } # ${'x'.repeat(10 * 1024 * 1024)}`);
    expect({ status, body }).toEqual({
      status: 413,
      body: {
        errors: [{ message: 'The request body is larger than 262144 bytes.', extensions: { code: 'BAD_USER_INPUT' } }],
      },
    });
    expect(changes).toBe(before);
  });

  test.each([
    ['not JSON', 'application/json', '{"query":'],
    ['a batch', 'application/json', '[{"query":"{ who }"}]'],
    ['a form', 'application/x-www-form-urlencoded', 'query={who}'],
    ['plain text', 'text/plain', '{"query":"{ who }"}'],
  ])('%s is refused with a code', async (_, type, body) => {
    const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers: { 'content-type': type }, body });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] });
  });

  test('a request that another site could make without asking is refused (CSRF)', async () => {
    const response = await fetch(`${server.url}/graphql?query={who}`);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] });
  });

  test('the request id is the given one when it is plain, else a new one', async () => {
    const idFor = async (id: string) =>
      (await postGraphql(server.url, '{ who }', { headers: { 'x-request-id': id } })).headers.get('x-request-id');
    expect(await idFor('abc-1')).toBe('abc-1');
    expect(await idFor('a b"{}')).toMatch(/^[\da-f-]{36}$/);
  });
});

describe('health', () => {
  test('live and ready, and unready naming what is down', async () => {
    const readyChecks = {
      postgres: async () => undefined,
      redis: async () => {
        throw new Error('redis://10.0.0.1');
      },
    };
    const { app, listen, close } = createHttpServer({ config: testConfig(), log, readyChecks });
    const url = await listen(0, 'TEST_PORT');
    expect(await (await fetch(`${url}/health/live`)).json()).toEqual({ status: 'live' });
    const ready = await fetch(`${url}/health/ready`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toEqual({ status: 'not ready', checks: { postgres: 'up', redis: 'down' } });
    expect((await fetch(`${server.url}/health/ready`)).status).toBe(200);
    await close();
    expect(app.server.listening).toBe(false);
  });
});

describe('start and stop', () => {
  test('a taken port gives one message with the port and its setting', async () => {
    const port = Number(new URL(server.url).port);
    const error = await start({ port }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StartError);
    expect((error as Error).message).toBe(
      `Port 127.0.0.1:${port} is taken. Stop what uses it, or set TIMELINE_PORT to another port.`,
    );
  });

  test('a stop lets the request in flight end', async () => {
    const own = await start();
    const answer = askSlowly(own.url);
    await slow.started.promise;
    const closed = own.close();
    slow.release.resolve();
    expect((await answer).body).toEqual({ data: { slow: 'done' } });
    await closed;
  });

  test('a stop cuts what takes longer than its limit', async () => {
    const own = await start({ config: testConfig({ SHUTDOWN_TIMEOUT_MS: '100' }) });
    const answer = askSlowly(own.url).catch(() => 'cut');
    await slow.started.promise;
    await own.close();
    expect(await answer).toBe('cut');
  });

  test('a request that takes too long is SERVICE_UNAVAILABLE', async () => {
    const own = await start({ config: testConfig({ REQUEST_TIMEOUT_MS: '100' }) });
    expect(await askSlowly(own.url)).toMatchObject({
      status: 503,
      body: { errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] },
    });
    slow.release.resolve();
    await own.close();
  });

  test('an idle keep-alive connection does not hold up a stop', async () => {
    const own = await start();
    const socket = net.connect(Number(new URL(own.url).port), '127.0.0.1');
    socket.write('GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n');
    await new Promise((resolve) => socket.once('data', resolve));
    const ended = new Promise((resolve) => socket.once('close', resolve));
    await own.close();
    await ended;
  });
});

describe('production', () => {
  test('tells neither its schema nor similar names, and still its SDL to a gateway', async () => {
    const own = await start({ config: testProductionConfig() });
    const ask = async (query: string) => (await postGraphql(own.url, query)).text;
    expect(await ask('{ __schema { types { name } } }')).toContain('GRAPHQL_VALIDATION_FAILED');
    expect(await ask('{ whoo }')).not.toContain('Did you mean');
    expect(await ask('{ _service { sdl } }')).toContain('type Query');
    await own.close();
  });
});

function askSlowly(url: string) {
  slow.started = deferred();
  slow.release = deferred();
  return postGraphql(url, '{ slow }');
}

function deferred() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
