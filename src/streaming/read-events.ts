import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { FormattedExecutionResult } from 'graphql';
import { BrokenOffError, createStream, type Results } from './results.js';

/**
 * The results of an answer in server-sent events (send-events.ts).
 * @param silentMs after which a stream without even a ping counts as broken off
 * @throws BrokenOffError, from `next`, when the stream ends without `complete`
 */
export function readEvents(body: ReadableStream<Uint8Array>, silentMs: number): Results {
  const reader = body.getReader();
  let isStopped = false;

  /** Ends a read that is waiting. Node's streams do it by their reader; those of the gateway's runtime only as a whole. */
  function stop(): void {
    for (const end of [() => body.cancel(), () => reader.cancel()]) void end().catch(() => undefined);
  }

  async function* read(): AsyncGenerator<FormattedExecutionResult> {
    const events: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (event) => events.push(event) });
    const decoder = new TextDecoder();
    for (;;) {
      const chunk = await readWithin(silentMs);
      if (isStopped) return;
      if (!chunk) throw new BrokenOffError();
      parser.feed(decoder.decode(chunk, { stream: true }));
      for (const { event, data } of events.splice(0)) {
        if (event === 'complete') return;
        if (event === 'next') yield JSON.parse(data) as FormattedExecutionResult;
      }
    }
  }

  /** Null when the stream ended, failed or was silent for too long. */
  async function readWithin(timeoutMs: number): Promise<Uint8Array | null> {
    const timer = setTimeout(stop, timeoutMs);
    try {
      return (await reader.read()).value ?? null;
    } catch {
      return null;
    } finally {
      clearTimeout(timer);
    }
  }

  const results = read();
  return createStream(
    () => results.next(),
    () => {
      isStopped = true;
      stop();
    },
  );
}
