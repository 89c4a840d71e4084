import { once } from 'node:events';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';
import type { FormattedExecutionResult } from 'graphql';
import { readEvents } from '../../src/streaming/read-events.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- the assertions are the type check
type Told = FormattedExecutionResult<any>;

/** An open subscription as a client has it. */
export interface LiveClient {
  /** The next result; null when the stream completed. @throws when it ended otherwise */
  next(): Promise<Told | null>;
  close(): Promise<void>;
}

export interface LiveRequest {
  readonly url: string;
  readonly token?: string | undefined;
  readonly query: string;
  readonly variables?: Record<string, unknown>;
}

export type OpenLive = (request: LiveRequest) => Promise<LiveClient>;

/** By server-sent events. @throws with the status and body of an answer that is no stream */
export const openEvents: OpenLive = async ({ url, token, query, variables }) => {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  });
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    throw new Error(`${response.status} ${await response.text()}`);
  }
  const results = readEvents(response.body as ReadableStream<Uint8Array>, 60_000);
  return {
    async next() {
      const result = await results.next();
      return result.done ? null : result.value;
    },
    async close() {
      await results.return?.();
    },
  };
};

/** By graphql-ws's own client, which connects once. @throws the close event of a connection that was refused */
export const openSocket: OpenLive = async ({ url, token, query, variables = {} }) => {
  const client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    ...(token !== undefined && { connectionParams: { authorization: `Bearer ${token}` } }),
  });
  const results = client.iterate({ query, variables });
  return {
    async next() {
      const result = await results.next();
      return result.done ? null : (result.value as Told);
    },
    async close() {
      await results.return?.();
      await client.dispose();
    },
  };
};

/** The status with which a server answers the attempt to open a WebSocket; 101 when it is open. */
export async function handshakeStatus(url: string): Promise<number> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws');
  try {
    const status = await Promise.race([
      once(socket, 'open').then(() => 101),
      once(socket, 'unexpected-response').then(([, response]) => (response as { statusCode: number }).statusCode),
    ]);
    return status;
  } finally {
    socket.on('error', () => undefined);
    socket.terminate();
  }
}
