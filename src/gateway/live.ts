import type { GatewayRuntime } from '@graphql-hive/gateway-runtime';
import type { Viewer } from '../domain/viewer.js';
import { readEvents } from '../streaming/read-events.js';
import { BrokenOffError, createStream, hasCode, once, type Results } from '../streaming/results.js';
import { EVENT_STREAM } from '../streaming/send-events.js';
import type { OpenOperation } from '../streaming/serve-sockets.js';
import { payerOf } from './payer.js';
import { isEventStream } from './read-subscription.js';
import { FACTS, type RequestFacts } from './request-context.js';

/** The runtime pings far more often. */
const SILENT_MS = 60_000;

/** Set in the context of an operation that came by WebSocket: runtime.ts refuses all but subscriptions then. */
export const LIVE_ONLY = 'isLiveOnly';

/**
 * Runs an operation that came by WebSocket as the request that it would be by HTTP, so that whatever holds for one holds
 * for the other: limits, identity, error texts.
 */
export const createOpener =
  (runtime: Pick<GatewayRuntime, 'fetch'>): OpenOperation =>
  async ({ query, variables, operationName, extensions }, { authorization, viewer, requestId }) => {
    const response = await runtime.fetch(
      'http://gateway/graphql',
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: EVENT_STREAM,
          authorization,
          'x-request-id': requestId,
        },
        body: JSON.stringify({ query, variables, operationName, extensions }),
      },
      { [LIVE_ONLY]: true, [FACTS]: factsOfViewer(viewer) },
    );
    if (response.body && isEventStream(response)) return readLive(response.body);
    return once((await response.json()) as { errors: [] });
  };

/** Subscriptions are paid for as by HTTP; what ends them is the end of their stream. */
const factsOfViewer = (viewer: Viewer): RequestFacts => ({
  payer: payerOf(viewer, ''),
  cancel: new AbortController().signal,
  wantsCost: false,
});

/**
 * The results of an operation that the runtime answers with events. Once it has begun well, a subgraph that goes away is no
 * answer but an end: clients connect again by themselves.
 * @throws BrokenOffError, from `next`
 */
export function readLive(body: ReadableStream<Uint8Array>): Results {
  const results = readEvents(body, SILENT_MS);
  const end = () => results.return?.();
  let hasBegun = false;
  return createStream(async () => {
    const result = await results.next();
    if (result.done) return result;
    if (hasBegun && hasCode(result.value, 'SERVICE_UNAVAILABLE')) {
      await end();
      throw new BrokenOffError();
    }
    hasBegun = true;
    return result;
  }, end);
}
