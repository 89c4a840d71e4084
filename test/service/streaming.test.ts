import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { createHttpServer } from '../../src/http.js';
import { createIdentityCheck } from '../../src/identity.js';
import { createStream, type Results } from '../../src/streaming/results.js';
import { serveLive } from '../../src/streaming/serve-live.js';
import { createTestLog, testConfig, tokenFor } from '../harness/tiny-subgraphs.js';

// A source that always has more, a megabyte each, so that a client that does not read soon holds up its server.

const config = testConfig({ LIVE_SLOW_MS: '300', LIVE_CONNECTIONS_MAX: '1' });
const { log, lines } = createTestLog();
const { app, listen, close } = createHttpServer({ config, log, readyChecks: {} });
let asked = 0;
let ended = 0;
let port: number;

const source = (): Results =>
  createStream(
    async () => ({ value: { data: { text: 'x'.repeat(1_000_000), n: (asked += 1) } } }),
    () => (ended += 1),
  );

beforeAll(async () => {
  const live = serveLive({ app, config, log, verify: createIdentityCheck(config), open: async () => source() });
  app.get('/graphql', (request, reply) => {
    const seat = live.reserve(reply);
    if (seat) live.send(request, reply, source(), seat);
    return reply;
  });
  port = Number(new URL(await listen(0, 'PORT')).port);
});
afterAll(close);
afterEach(() => {
  ended = asked = 0;
});

test('a client of server-sent events that stops reading is asked for nothing more, cut off, and gives its place back', async () => {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write('GET /graphql HTTP/1.1\r\nhost: x\r\n\r\n');
  await once(socket, 'readable');
  while (ended === 0) await pause(20);
  // What the kernel took for it, and one in hand.
  expect(asked).toBeLessThan(40);
  expect(lines()).toContain('does not take its updates');
  const closed = once(socket, 'close');
  socket.resume();
  await closed;
  const next = await fetch(`http://127.0.0.1:${port}/graphql`);
  expect(next.status).toBe(200);
  await next.body?.cancel();
  while (ended < 2) await pause(20);
});

test('so is one of a WebSocket', async () => {
  const token = await tokenFor(1n);
  const open = async (): Promise<WebSocket> => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/graphql`, 'graphql-transport-ws');
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } }));
    await once(socket, 'message');
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: 'subscription { x }' } }));
    return socket;
  };
  const socket = await open();
  await once(socket, 'message');
  socket.pause();
  while (ended === 0) await pause(20);
  expect(asked).toBeLessThan(40);
  const closed = once(socket, 'close');
  socket.resume();
  expect(await closed).toEqual([1006, expect.anything()]);
  (await open()).terminate();
});
