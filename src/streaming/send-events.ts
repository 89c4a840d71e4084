import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import type { FormattedExecutionResult } from 'graphql';
import type { Seat } from './connections.js';
import { EXPIRED, type Results } from './results.js';

/** The media type of server-sent events, which a client asks for. */
export const EVENT_STREAM = 'text/event-stream';

/**
 * Answers with server-sent events as the "distinct connections mode" of GraphQL over SSE has it: `next` with a result each,
 * then `complete`. A stream that ends without `complete` was broken off: clients connect again.
 *
 * A result is taken from `results` only when the client has taken the one before.
 */
export function sendEvents(
  reply: FastifyReply,
  results: Results,
  { seat, expiresAt }: { seat: Seat; expiresAt: number | null },
): void {
  reply.header('content-type', `${EVENT_STREAM}; charset=utf-8`);
  // Proxies must neither keep nor gather it.
  reply.headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
  reply.hijack();
  const { raw } = reply;
  let isOver = false;

  /** Nothing is written after the last words. */
  function finish(lastWords: string): void {
    if (isOver) return;
    isOver = true;
    void results.return?.();
    raw.end(lastWords);
  }

  async function pump(): Promise<void> {
    for await (const result of results) {
      if (isOver) return;
      if (!raw.write(eventOf(result))) await once(raw, 'drain', { signal: closed.signal });
    }
    finish(COMPLETE);
  }

  const closed = new AbortController();
  raw.once('close', () => {
    isOver = true;
    seat.leave();
    closed.abort();
    void results.return?.();
  });
  raw.writeHead(200, reply.getHeaders() as Record<string, string>);
  // Some clients see the answer only once something of it has come.
  raw.write(PING);
  seat.take({
    expiresAt,
    pendingBytes: () => raw.writableLength,
    ping() {
      if (!isOver) raw.write(PING);
    },
    end: (reason) => finish(reason === 'expired' ? eventOf(EXPIRED) + COMPLETE : ''),
    cut: () => raw.destroy(),
  });
  pump().catch(() => finish(''));
}

const PING = ':\n\n';
const COMPLETE = 'event: complete\ndata:\n\n';

const eventOf = (result: FormattedExecutionResult): string => `event: next\ndata: ${JSON.stringify(result)}\n\n`;
