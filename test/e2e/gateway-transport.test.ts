import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startGateway, type GatewaySettings } from '../../src/gateway/server.js';
import type { RunningServer } from '../../src/http.js';
import { findProjectFile } from '../../src/project-files.js';
import { createTestLog, postGraphql, testConfig, tokenFor, writeTempFile } from '../harness/tiny-subgraphs.js';

/** A subgraph that answers as a test tells it to. */
interface FakeSubgraph {
  readonly url: string;
  readonly seen: { headers: http.IncomingHttpHeaders; query: string; socket: http.IncomingMessage['socket'] }[];
  answer: (response: http.ServerResponse, attempt: number) => void;
}

const opened: http.Server[] = [];
const gateways: RunningServer[] = [];
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.close()));
  for (const server of opened) {
    server.closeAllConnections();
    server.close();
  }
});

async function openSubgraph(data: object): Promise<FakeSubgraph> {
  const seen: FakeSubgraph['seen'] = [];
  const server = http
    .createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { query } = JSON.parse(Buffer.concat(chunks).toString()) as { query: string };
        seen.push({ headers: request.headers, query, socket: request.socket });
        subgraph.answer(response, seen.length);
      });
    })
    .listen(0, '127.0.0.1');
  opened.push(server);
  await once(server, 'listening');
  const subgraph: FakeSubgraph = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`,
    seen,
    answer: (response) => send(response, { data }),
  };
  return subgraph;
}

const send = (response: http.ServerResponse, body: object): void => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
};

const { log, lines } = createTestLog();
let social: FakeSubgraph;
let timeline: FakeSubgraph;
beforeEach(async () => {
  social = await openSubgraph({ viewer: { handle: 'ann' } });
  timeline = await openSubgraph({ timelineNewer: { count: 3 } });
});

async function start(settings: Partial<GatewaySettings> = {}): Promise<RunningServer> {
  const gateway = await startGateway({
    config: testConfig(),
    log,
    supergraphPath: findProjectFile('schema/supergraph.graphql'),
    subgraphUrls: { social: social.url, timeline: timeline.url },
    port: 0,
    ...settings,
  });
  gateways.push(gateway);
  return gateway;
}

const READ = '{ viewer { handle } }';
const WRITE = 'mutation { setFollow(input: { userId: "1", following: true }) { user { handle } } }';
const codeOf = async (gateway: RunningServer, query: string) =>
  (await postGraphql(gateway.url, query)).body.errors?.[0]?.extensions.code ?? 'none';

test('a subgraph gets who asks and what joins logs and traces, and no other header', async () => {
  const gateway = await start();
  const token = await tokenFor(7n);
  const passed = {
    'x-request-id': 'request-1',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: 'vendor=1',
    baggage: 'tenant=a',
  };
  await postGraphql(gateway.url, READ, { token, headers: { ...passed, cookie: 'a=b', 'x-forwarded-for': '1.2.3.4' } });
  expect(social.seen[0]?.headers).toMatchObject({ ...passed, authorization: `Bearer ${token}` });
  expect(social.seen[0]?.headers).not.toHaveProperty('cookie');
  expect(social.seen[0]?.headers).not.toHaveProperty('x-forwarded-for');
});

describe('attempts', () => {
  const ill: [string, FakeSubgraph['answer']][] = [
    ['breaks the connection off', (response) => response.destroy()],
    ['is behind a proxy that answers 503', (response) => void response.writeHead(503).end('<html>')],
  ];

  test.each(ill)('a read is tried again when a subgraph %s, a mutation is not', async (_, fail) => {
    const gateway = await start();
    const { answer } = social;
    social.answer = (response, attempt) => (attempt % 2 === 1 ? fail : answer)(response, attempt);
    expect((await postGraphql(gateway.url, READ)).body).toEqual({ data: { viewer: { handle: 'ann' } } });
    expect(social.seen).toHaveLength(2);
    expect(await codeOf(gateway, WRITE)).toBe('SERVICE_UNAVAILABLE');
    expect(social.seen).toHaveLength(3);
  });

  test('attempts end', async () => {
    const gateway = await start({ config: testConfig({ SUBGRAPH_READ_ATTEMPTS: '3' }) });
    social.answer = (response) => response.destroy();
    expect(await codeOf(gateway, READ)).toBe('SERVICE_UNAVAILABLE');
    expect(social.seen).toHaveLength(3);
  });

  test('an answer is taken as it is: an error of GraphQL or of HTTP is not asked for twice', async () => {
    const gateway = await start();
    social.answer = (response) =>
      send(response, { data: null, errors: [{ message: 'no', path: ['viewer'], extensions: { code: 'FORBIDDEN' } }] });
    expect(await codeOf(gateway, READ)).toBe('FORBIDDEN');
    social.answer = (response) => void response.writeHead(400).end('bad');
    expect(await codeOf(gateway, READ)).toBe('SERVICE_UNAVAILABLE');
    expect(social.seen).toHaveLength(2);
  });
});

describe('time', () => {
  const BOTH = '{ viewer { handle } timelineNewer(than: "x") { count } }';

  test('each subgraph has its own limit, and a slow one costs its fields only', async () => {
    const config = testConfig({ SUBGRAPH_TIMEOUTS_MS: 'social=50', SUBGRAPH_TIMEOUT_MS: '30000' });
    const gateway = await start({ config });
    social.answer = () => undefined;
    timeline.answer = (response) => setTimeout(() => send(response, { data: { timelineNewer: { count: 3 } } }), 150);
    const { body } = await postGraphql(gateway.url, BOTH);
    expect(body.data).toEqual({ viewer: null, timelineNewer: { count: 3 } });
    expect(body.errors).toMatchObject([{ path: ['viewer'], extensions: { code: 'SERVICE_UNAVAILABLE' } }]);
    expect(lines()).toContain('no answer within 50 ms');
  });

  test('what takes too long as a whole is answered, and no subgraph goes on for it', async () => {
    const gateway = await start({ config: testConfig({ REQUEST_TIMEOUT_MS: '1500' }) });
    social.answer = () => undefined;
    const { status, body } = await postGraphql(gateway.url, READ);
    expect([status, body.errors?.[0]?.extensions.code]).toEqual([503, 'SERVICE_UNAVAILABLE']);
    await closed(social.seen[0]!.socket);
    expect(social.seen).toHaveLength(1);
  });

  test('a client that goes away takes its work along', async () => {
    const gateway = await start();
    const abort = new AbortController();
    social.answer = () => {
      abort.abort();
    };
    const request = fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: READ }),
      signal: abort.signal,
    });
    await expect(request).rejects.toThrow();
    await closed(social.seen[0]!.socket);
    expect(social.seen).toHaveLength(1);
  });

  const closed = async (socket: http.IncomingMessage['socket']): Promise<void> => {
    if (!socket.closed) await once(socket, 'close');
  };
});

describe('a changed supergraph', () => {
  const prepare = async () => {
    const file = writeTempFile(
      'supergraph.graphql',
      readFileSync(findProjectFile('schema/supergraph.graphql'), 'utf8'),
    );
    return { file, gateway: await start({ supergraphPath: file, config: testConfig({ SUPERGRAPH_POLL_MS: '20' }) }) };
  };
  const RENAMED = '{ me: whoAmI { handle } }';
  const until = async (condition: () => Promise<boolean>) => {
    for (let i = 0; i < 1_000 && !(await condition()); i += 1) await new Promise((resolve) => setTimeout(resolve, 10));
  };

  test('is taken up while requests run, and none of them is lost', async () => {
    const { file, gateway } = await prepare();
    const { answer } = social;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      social.answer = (response, attempt) => {
        release = () => answer(response, attempt);
        resolve();
      };
    });
    const slow = postGraphql(gateway.url, READ);
    await held;
    social.answer = (response) => send(response, { data: { whoAmI: { handle: 'ann' }, me: { handle: 'ann' } } });
    const next = readFileSync(file, 'utf8').replace('  viewer: User @join__field', '  whoAmI: User @join__field');
    writeFileSync(file, next);
    await until(async () => (await codeOf(gateway, RENAMED)) === 'none');
    expect((await postGraphql(gateway.url, RENAMED)).body.data).toEqual({ me: { handle: 'ann' } });
    expect(await codeOf(gateway, READ)).toBe('GRAPHQL_VALIDATION_FAILED');
    release();
    expect((await slow).body).toEqual({ data: { viewer: { handle: 'ann' } } });
  });

  test('that does not load is told to the log once, and the old one stays', async () => {
    const { file, gateway } = await prepare();
    const told = () => lines().split('does not load').length - 1;
    const before = told();
    copyFileSync(findProjectFile('package.json'), file);
    await until(async () => told() > before);
    for (let i = 0; i < 5; i += 1) await codeOf(gateway, READ);
    expect(await codeOf(gateway, READ)).toBe('none');
    expect(told()).toBe(before + 1);
  });

  test('that does not load at the start stops the start', async () => {
    await expect(start({ supergraphPath: writeTempFile('supergraph.graphql', 'type Query {') })).rejects.toThrow();
    await expect(start({ supergraphPath: '/nowhere/supergraph.graphql' })).rejects.toThrow('ENOENT');
  });
});

test('a foreign code is masked unless it is named in EXTRA_ERROR_CODES', async () => {
  const answer: FakeSubgraph['answer'] = (response) =>
    send(response, {
      data: null,
      errors: [{ message: 'Pay first.', path: ['viewer'], extensions: { code: 'PAYWALL' } }],
    });
  social.answer = answer;
  expect(await codeOf(await start(), READ)).toBe('INTERNAL_SERVER_ERROR');
  const named = await start({ config: testConfig({ EXTRA_ERROR_CODES: 'PAYWALL,OTHER' }) });
  expect((await postGraphql(named.url, READ)).body.errors).toEqual([
    { message: 'Pay first.', path: ['viewer'], extensions: { code: 'PAYWALL' } },
  ]);
});
