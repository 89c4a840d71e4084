import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startGateway } from '../../src/gateway/server.js';
import { findProjectFile } from '../../src/project-files.js';
import { startApolloGateway } from '../harness/apollo-gateway.js';
import { createTestLog, postGraphql, testConfig, testProductionConfig } from '../harness/tiny-subgraphs.js';

// Faults of one subgraph, seen through both gateways, in development and in production.

const CLOSED = 'http://127.0.0.1:9/graphql';
const post = (contentId: string) => ({
  __typename: 'Content',
  id: `id${contentId}`,
  contentId,
  text: `text ${contentId}`,
});
const opened: http.Server[] = [];
const served = async (listener: http.RequestListener): Promise<string> => {
  const server = http.createServer(listener).listen(0, '127.0.0.1');
  opened.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
};
const answering = (body: object) =>
  served((_, response) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body)));

let timeline: string;
beforeAll(async () => {
  timeline = await answering({ data: { timelineFeed: { nodes: [post('1'), post('2')] } } });
});
afterAll(() => {
  for (const server of opened) {
    server.closeAllConnections();
    server.close();
  }
});

interface Gateway {
  readonly url: string;
  close(): Promise<void>;
}

const supergraphPath = findProjectFile('schema/supergraph.graphql');
const GATEWAYS: [string, (social: string) => Promise<Gateway>][] = [
  ...[testConfig, testProductionConfig].map((configure): [string, (social: string) => Promise<Gateway>] => [
    `our gateway, ${configure().NODE_ENV}`,
    (social) =>
      startGateway({
        config: configure({ SUBGRAPH_TIMEOUTS_MS: 'social=300' }),
        log: createTestLog().log,
        supergraphPath,
        subgraphUrls: { timeline, social },
        port: 0,
      }),
  ]),
  ...[false, true].map((isProduction): [string, (social: string) => Promise<Gateway>] => [
    `@apollo/gateway, ${isProduction ? 'production' : 'development'}`,
    (social) =>
      startApolloGateway({
        supergraphSdl: readFileSync(supergraphPath, 'utf8'),
        urls: { timeline, social },
        isProduction,
      }),
  ]),
];

const QUERY = '{ timelineFeed { nodes { contentId text repostOf { contentId } } } }';
const INTERNALS = /127\.0\.0\.1|10\.9\.8\.7|ECONN|https?:|SELECT|stack|node_modules|social|_entities/;
const row = (index: number) => ['timelineFeed', 'nodes', index, 'repostOf'];
const nodes = (first: object | null, second: object | null) => ({
  timelineFeed: {
    nodes: [
      { contentId: '1', text: 'text 1', repostOf: first },
      { contentId: '2', text: 'text 2', repostOf: second },
    ],
  },
});

describe.each(GATEWAYS)('%s', (name, start) => {
  const isOurs = name.startsWith('our gateway');
  const ask = async (social: string) => {
    const gateway = await start(social);
    const { body, text } = await postGraphql(gateway.url, QUERY);
    await gateway.close();
    expect(text).not.toMatch(INTERNALS);
    return body;
  };

  const unreachable: [string, () => Promise<string>][] = [
    ['is down', async () => CLOSED],
    [
      'answers with a page of a proxy',
      () => served((_, response) => response.writeHead(502).end('<html>10.9.8.7 is down</html>')),
    ],
    ['closes the connection', () => served((request) => request.socket.destroy())],
    ['answers with nothing', () => answering({})],
    [
      'answers with an error of its own making',
      () => answering({ errors: [{ message: 'SELECT at 10.9.8.7', extensions: { stacktrace: ['x'] } }] }),
    ],
  ];
  test.each(unreachable)('a subgraph that %s costs its fields, with a code', async (fault, open) => {
    const body = await ask(await open());
    expect(body.data).toEqual(nodes(null, null));
    const codes = new Set(body.errors?.map(({ extensions }) => extensions.code));
    expect([...codes].every((code) => ['SERVICE_UNAVAILABLE', 'INTERNAL_SERVER_ERROR'].includes(code))).toBe(true);
    // Apollo's gateway takes an empty answer for nulls, and says so to nobody.
    if (isOurs) expect(body.errors?.every(({ path }) => path?.[0] === 'timelineFeed')).toBe(true);
    if (isOurs || fault !== 'answers with nothing') expect(codes.size).toBeGreaterThan(0);
  });

  test('one row that fails costs that row, with its code and its path', async () => {
    const social = await answering({
      data: {
        _entities: [
          { __typename: 'Content', repostOf: { __typename: 'Content', contentId: '9', id: 'id9' } },
          { __typename: 'Content', repostOf: null },
        ],
      },
      errors: [
        {
          message: 'This original is not for you.',
          path: ['_entities', 1, 'repostOf'],
          extensions: { code: 'FORBIDDEN' },
        },
      ],
    });
    const body = await ask(social);
    expect(body.data).toEqual(nodes({ contentId: '9' }, null));
    expect(body.errors).toEqual([
      { message: 'This original is not for you.', path: row(1), extensions: { code: 'FORBIDDEN' } },
    ]);
  });

  test('one row that fails for a reason of the inside says nothing of it', async () => {
    const social = await answering({
      data: { _entities: [null, { __typename: 'Content', repostOf: null }] },
      errors: [
        {
          message: 'SELECT at 10.9.8.7',
          path: ['_entities', 0],
          extensions: { code: 'INTERNAL_SERVER_ERROR', stacktrace: ['x'] },
        },
      ],
    });
    const body = await ask(social);
    expect(body.data).toEqual(nodes(null, null));
    expect(body.errors?.map(({ extensions }) => extensions.code)).toEqual(['INTERNAL_SERVER_ERROR']);
  });
});

test('a slow subgraph costs its fields within its time, at our gateway', async () => {
  for (const [, start] of GATEWAYS.slice(0, 2)) {
    const gateway = await start(await served(() => undefined));
    const { body } = await postGraphql(gateway.url, QUERY);
    expect(body.data).toEqual(nodes(null, null));
    expect(body.errors?.[0]?.extensions.code).toBe('SERVICE_UNAVAILABLE');
    await gateway.close();
  }
});
