import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startGateway, type GatewaySettings } from '../../src/gateway/server.js';
import type { RunningServer } from '../../src/http.js';
import { findProjectFile } from '../../src/project-files.js';
import { createLocalBuckets } from '../../src/stores/point-buckets.js';
import {
  createTestLog,
  postGraphql,
  startTinySubgraph,
  testConfig,
  testProductionConfig,
  tokenFor,
  writeTempFile,
} from '../harness/tiny-subgraphs.js';

// Each attack is refused with its code before anything is asked of a subgraph, so before any store is.

const { log, lines } = createTestLog();
let asked = 0;
let subgraph: http.Server;
let url: string;
let gateway: RunningServer;

const start = (settings: Partial<GatewaySettings> = {}) =>
  startGateway({
    config: testConfig(),
    log,
    supergraphPath: findProjectFile('schema/supergraph.graphql'),
    subgraphUrls: { social: url, timeline: url },
    port: 0,
    ...settings,
  });

beforeAll(async () => {
  subgraph = http
    .createServer((_, response) => {
      asked += 1;
      response.setHeader('content-type', 'application/json').end('{"data":{"viewer":{"userId":"7","handle":"ann"}}}');
    })
    .listen(0, '127.0.0.1');
  await once(subgraph, 'listening');
  url = `http://127.0.0.1:${(subgraph.address() as AddressInfo).port}/graphql`;
  gateway = await start();
});
afterAll(async () => {
  await gateway.close();
  subgraph.close();
});
beforeEach(() => {
  asked = 0;
});

const nest = (levels: number) =>
  `${'{ author { contents { edges { node '.repeat(levels)}{ id }${' } } } }'.repeat(levels)}`;
const repeat = (count: number, make: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => make(i)).join(' ');
const doubling = `{ ...F0 } ${repeat(60, (i) => `fragment F${i} on Query { ...F${i + 1} ...F${i + 1} }`)} fragment F60 on Query { __typename }`;

const ATTACKS: [string, string, string][] = [
  ['an operation of great depth', `{ timelineFeed { nodes ${nest(6)} } }`, 'OPERATION_TOO_COMPLEX'],
  [
    'depth hidden in fragments',
    `{ timelineFeed { nodes { ...F } } } fragment F on Content ${nest(6)}`,
    'OPERATION_TOO_COMPLEX',
  ],
  ['aliases', `{ ${repeat(31, (i) => `a${i}: viewer { id }`)} }`, 'OPERATION_TOO_COMPLEX'],
  ['aliases of __typename', `{ ${repeat(200, (i) => `a${i}: __typename`)} }`, 'OPERATION_TOO_COMPLEX'],
  ['directives', `{ __typename ${'@a'.repeat(10)} }`, 'OPERATION_TOO_COMPLEX'],
  ['fragments that double', doubling, 'OPERATION_TOO_COMPLEX'],
  [
    'lists within lists',
    '{ timelineFeed(first: 100) { nodes { likers(first: 100) { edges { node { handle } } } } } }',
    'OPERATION_TOO_COMPLEX',
  ],
  ['tokens', `{ ${'viewer { id } '.repeat(2_000)} }`, 'GRAPHQL_PARSE_FAILED'],
  ['what is not in the schema', '{ users { passwordHash } }', 'GRAPHQL_VALIDATION_FAILED'],
  [
    'a circular introspection',
    `{ __schema { types ${'{ fields { type '.repeat(8)}{ name }${' } }'.repeat(8)} } }`,
    'GRAPHQL_VALIDATION_FAILED',
  ],
];

describe('operations', () => {
  test.each(ATTACKS)('%s: refused before a subgraph is asked', async (_, query, code) => {
    const { body } = await postGraphql(gateway.url, query, { token: await tokenFor(7n) });
    expect(body.data).toBeUndefined();
    expect(body.errors?.[0]?.extensions.code).toBe(code);
    expect(asked).toBe(0);
  });

  test('the same operations are refused by a subgraph that is asked past the gateway', async () => {
    let resolved = 0;
    const count = async () => {
      resolved += 1;
      return null;
    };
    const social = await startTinySubgraph('social', { Query: { viewer: count, user: count, content: count } });
    const codeOf = async (query: string) => (await postGraphql(social.url, query)).body.errors?.[0]?.extensions.code;
    const list =
      'comments(first: 100) { edges { node { author { followers(first: 100) { edges { node { id } } } } } } }';
    expect(await codeOf(`{ content(contentId: "1") { ${list} } }`)).toBe('OPERATION_TOO_COMPLEX');
    expect(await codeOf(`{ content(contentId: "1") ${nest(6)} }`)).toBe('OPERATION_TOO_COMPLEX');
    expect(await codeOf(`{ ${repeat(121, (i) => `a${i}: viewer { id }`)} }`)).toBe('OPERATION_TOO_COMPLEX');
    expect(await codeOf(doubling)).toBe('OPERATION_TOO_COMPLEX');
    expect(await codeOf(`{ __typename ${'@skip(if: true)'.repeat(10)} }`)).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(resolved).toBe(0);
    await social.close();
  });

  test('a batch, a form, and a request without a content type (CSRF) are refused', async () => {
    const send = async (type: string | null, body: string) => {
      const headers = type === null ? {} : { 'content-type': type };
      const response = await fetch(`${gateway.url}/graphql`, { method: 'POST', headers, body: Buffer.from(body) });
      return ((await response.json()) as { errors: { extensions: { code: string } }[] }).errors[0]?.extensions.code;
    };
    expect(await send('application/json', '[{"query":"{ viewer { id } }"},{"query":"{ viewer { id } }"}]')).toBe(
      'BAD_USER_INPUT',
    );
    for (const type of [null, 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      expect([
        type,
        await send(type, '{"query":"mutation { deleteContent(input: { contentId: 1 }) { contentId } }"}'),
      ]).toEqual([type, 'BAD_USER_INPUT']);
    }
    expect(asked).toBe(0);
  });

  test('production tells nothing of the schema', async () => {
    const own = await start({ config: testProductionConfig() });
    const { body } = await postGraphql(own.url, '{ __schema { types { name } } }');
    expect(body.errors?.[0]?.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
    expect((await postGraphql(own.url, '{ viewr { id } }')).text).not.toContain('Did you mean');
    expect((await postGraphql(own.url, '{ viewer { handl } }')).text).not.toContain('Did you mean');
    expect(asked).toBe(0);
    await own.close();
  });
});

describe('cost on request', () => {
  test('stands in the extensions, of refused operations too, and not unless it is asked for', async () => {
    const ask = async (query: string, headers = {}) =>
      ((await postGraphql(gateway.url, query, { headers })).body as { extensions?: unknown }).extensions;
    const wanted = { 'x-graphql-cost': '1' };
    expect(await ask('{ viewer { userId } }', wanted)).toEqual({ cost: { requested: 1, maximum: 5000 } });
    expect(await ask(ATTACKS[6]![1], wanted)).toEqual({ cost: { requested: 10406, maximum: 5000 } });
    expect(await ask('{ viewer { userId } }')).toBeUndefined();
  });
});

describe('rate limits', () => {
  const policy = { capacity: 10, refillPerSecond: 1 };
  const limited = async (settings: Partial<GatewaySettings> = {}) => {
    const now = { ms: 1_000_000 };
    const takePoints = createLocalBuckets(policy, () => now.ms);
    return { own: await start({ stores: { takePoints }, ...settings }), now };
  };
  const QUERY = '{ a: viewer { userId } b: viewer { userId } c: viewer { userId } d: viewer { userId } }';

  test('an operation pays what it costs, and one that the bucket does not hold is refused until it does', async () => {
    const { own, now } = await limited();
    const token = await tokenFor(7n);
    const ask = async (as: string | undefined = token) => {
      const { status, body, headers } = await postGraphql(own.url, QUERY, as ? { token: as } : {});
      const told = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'retry-after'];
      return [status, body.errors?.[0]?.extensions.code ?? null, ...told.map((name) => headers.get(name))];
    };
    expect(await ask()).toEqual([200, null, '10', '6', '4', null]);
    expect(await ask()).toEqual([200, null, '10', '2', '8', null]);
    const before = asked;
    expect(await ask()).toEqual([429, 'RATE_LIMITED', '10', '2', '8', '2']);
    expect(asked).toBe(before);
    // Neither another viewer nor nobody pays for this one.
    expect((await ask(await tokenFor(8n)))[0]).toBe(200);
    expect((await ask(''))[0]).toBe(200);
    now.ms += 2_000;
    expect(await ask()).toEqual([200, null, '10', '0', '10', null]);
    await own.close();
  });

  test('what is refused for another reason costs nothing', async () => {
    const { own } = await limited();
    const token = await tokenFor(7n);
    for (const [, query] of ATTACKS) await postGraphql(own.url, query, { token });
    expect((await postGraphql(own.url, '{ viewer { userId } }', { token })).headers.get('x-ratelimit-remaining')).toBe(
      '9',
    );
    await own.close();
  });

  test('nobody gets more by naming another address, unless a trusted proxy names it', async () => {
    const { own } = await limited();
    const trusting = (await limited({ config: testConfig({ TRUSTED_PROXIES: '127.0.0.1' }) })).own;
    const remaining = async (server: RunningServer, address: string) =>
      (await postGraphql(server.url, QUERY, { headers: { 'x-forwarded-for': address } })).headers.get(
        'x-ratelimit-remaining',
      );
    expect([await remaining(own, '1.1.1.1'), await remaining(own, '2.2.2.2')]).toEqual(['6', '2']);
    expect([await remaining(trusting, '1.1.1.1'), await remaining(trusting, '2.2.2.2')]).toEqual(['6', '6']);
    // One IPv6 network is one client.
    expect([await remaining(trusting, '2001:db8::1'), await remaining(trusting, '2001:db8:0:0:9::2')]).toEqual([
      '6',
      '2',
    ]);
    await own.close();
    await trusting.close();
  });
});

describe('persisted operations', () => {
  const hashOf = (text: string) => createHash('sha256').update(text).digest('hex');
  const send = async (server: RunningServer, body: object) => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return (await response.json()) as { data?: unknown; errors?: { message: string; extensions: { code: string } }[] };
  };
  const byHash = (hash: string, more = {}) => ({
    extensions: { persistedQuery: { version: 1, sha256Hash: hash } },
    ...more,
  });
  const query = '{ viewer { userId } }';
  const answer = { data: { viewer: { userId: '7' } } };

  test('a hash is answered once its text was sent; what is refused is never kept', async () => {
    const texts = new Map<string, string>();
    const queryTexts = {
      get: async (hash: string) => texts.get(hash) ?? null,
      set: async (hash: string, text: string) => void texts.set(hash, text),
    };
    const own = await start({ stores: { queryTexts } });
    const unknown = { message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } };
    expect(await send(own, byHash(hashOf(query)))).toEqual({ errors: [unknown] });
    expect(await send(own, byHash(hashOf(query), { query }))).toEqual(answer);
    expect(await send(own, byHash(hashOf(query)))).toEqual(answer);
    const other = await start({ stores: { queryTexts } });
    expect(await send(other, byHash(hashOf(query)))).toEqual(answer);
    expect((await send(own, byHash(hashOf('{ a }'), { query }))).errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
    for (const [, attack] of ATTACKS) {
      await send(own, byHash(hashOf(attack), { query: attack }));
      expect(texts.has(hashOf(attack))).toBe(false);
    }
    await own.close();
    await other.close();
  });

  test('a store that is away costs clients one more request, and nothing else', async () => {
    const away = async () => {
      throw new Error('away');
    };
    const own = await start({ stores: { queryTexts: { get: away, set: away } } });
    expect((await send(own, byHash(hashOf(query)))).errors?.[0]?.message).toBe('PersistedQueryNotFound');
    expect(await send(own, byHash(hashOf(query), { query }))).toEqual(answer);
    expect(await send(own, byHash(hashOf(query)))).toEqual(answer);
    await own.close();
  });

  test('with a list only its operations are answered, by hash, by documentId or by text', async () => {
    const file = writeTempFile('operations.json', JSON.stringify({ [hashOf(query)]: query }));
    const own = await start({ config: testConfig({ PERSISTED_OPERATIONS_FILE: file }) });
    expect(await send(own, byHash(hashOf(query)))).toEqual(answer);
    expect(await send(own, { documentId: `sha256:${hashOf(query)}` })).toEqual(answer);
    expect(await send(own, { query })).toEqual(answer);
    const before = asked;
    const other = '{ viewer { handle } }';
    const bad = [
      { query: other },
      byHash(hashOf(other)),
      byHash(hashOf(other), { query: other }),
      { documentId: 'x' },
      {},
    ];
    for (const body of bad) expect((await send(own, body)).errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    // The hash of a listed operation does not let another text in.
    expect(await send(own, byHash(hashOf(query), { query: other }))).toEqual(answer);
    expect(asked).toBe(before + 1);
    await own.close();
  });
});

describe('browsers', () => {
  const preflight = (server: RunningServer, origin: string) =>
    fetch(`${server.url}/graphql`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
    });

  test('only listed origins may read answers', async () => {
    const own = await start({ config: testConfig({ CORS_ORIGINS: 'https://app.example, https://beta.example' }) });
    const allowed = async (server: RunningServer, origin: string) =>
      (await preflight(server, origin)).headers.get('access-control-allow-origin');
    expect(await allowed(own, 'https://app.example')).toBe('https://app.example');
    expect(await allowed(own, 'https://beta.example')).toBe('https://beta.example');
    for (const origin of ['https://evil.example', 'https://app.example.evil.example', 'http://app.example', 'null']) {
      expect(await allowed(own, origin)).toBeNull();
    }
    expect(await allowed(gateway, 'https://app.example')).toBeNull();
    expect((await preflight(own, 'https://app.example')).headers.get('access-control-allow-credentials')).toBeNull();
    await own.close();
  });

  test('answers carry headers that keep them from being framed, sniffed, cached or referred to', async () => {
    const { headers } = await postGraphql(gateway.url, '{ viewer { userId } }');
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    });
    const own = await start({ config: testProductionConfig() });
    expect((await postGraphql(own.url, '{ viewer { userId } }')).headers.get('strict-transport-security')).toContain(
      'max-age',
    );
    await own.close();
  });
});

test('no token of these requests is in the log', () => {
  expect(lines()).not.toMatch(/Bearer|eyJ/);
});
