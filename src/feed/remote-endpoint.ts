import { circuitBreaker, CircuitState, ConsecutiveBreaker, handleType } from 'cockatiel';
import { Pool } from 'undici';
import { z } from 'zod';
import { messageOf } from '../domain/errors.js';
import type { Asker } from './sources.js';

/** Failures in a row after which an endpoint is left alone, and for how long before one request tries it again. */
const BREAKER_FAILURES = 5;
const BREAKER_PAUSE_MS = 1_000;

/** A hundred contents of the greatest size in four-byte characters are a third of it. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** Finds entities of another federated subgraph. */
export interface RemoteEndpoint {
  /**
   * One outcome per representation, in order: what the server answered, null where it has no such entity, an Error
   * where it failed for this one alone. Safe to repeat: it only reads.
   * @throws when it failed as a whole, and at once while it is left alone.
   */
  findEntities(query: string, representations: readonly object[], call: RemoteCall): Promise<unknown[]>;
  close(): Promise<void>;
}

export interface RemoteCall {
  readonly asker: Asker;
  readonly signal: AbortSignal;
}

/** The endpoint does not answer, or with something that is no answer: the next request would fare no better. */
class EndpointDown extends Error {}

/**
 * @param options.connections kept open and used again; further requests wait for one.
 * @param options.onChange `open`: the endpoint is left alone from now on.
 */
export function openRemoteEndpoint(options: {
  url: string;
  connections: number;
  onChange: (state: 'open' | 'closed') => void;
}): RemoteEndpoint {
  const { origin, pathname, search } = new URL(options.url);
  const pool = new Pool(origin, { connections: options.connections, maxResponseSize: ANSWER_BYTES_MAX });
  const breaker = circuitBreaker(handleType(EndpointDown), {
    halfOpenAfter: BREAKER_PAUSE_MS,
    breaker: new ConsecutiveBreaker(BREAKER_FAILURES),
  });
  breaker.onStateChange((state) => {
    if (state === CircuitState.Open) options.onChange('open');
    if (state === CircuitState.Closed) options.onChange('closed');
  });

  async function post(body: string, { asker, signal }: RemoteCall) {
    const { statusCode, body: answer } = await pool.request({
      method: 'POST',
      path: `${pathname}${search}`,
      headers: {
        'content-type': 'application/json',
        accept: 'application/graphql-response+json, application/json',
        ...(asker.authorization !== undefined && { authorization: asker.authorization }),
        ...(asker.requestId !== undefined && { 'x-request-id': asker.requestId }),
      },
      body,
      signal,
    });
    return { statusCode, text: await answer.text() };
  }

  /** A connection that the other side closed while it was idle is found out by using it: a second one is tried. */
  async function postAgainWhenStale(body: string, call: RemoteCall) {
    try {
      return await post(body, call).catch((error: unknown) => {
        if (!STALE_CODES.has((error as { code?: unknown }).code) || call.signal.aborted) throw error;
        return post(body, call);
      });
    } catch (error) {
      throw new EndpointDown(messageOf(error), { cause: error });
    }
  }

  return {
    async findEntities(query, representations, call) {
      // By itself the breaker would let the others wait for the one that tries.
      if (breaker.state === CircuitState.HalfOpen) throw new Error('left alone while one request tries');
      return breaker.execute(async () => {
        const body = JSON.stringify({ query, variables: { representations } });
        const { statusCode, text } = await postAgainWhenStale(body, call);
        return readEntities(statusCode, text, representations.length);
      });
    },
    close: () => pool.close(),
  };
}

const STALE_CODES: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** What is said of the asker (a token that this service refuses, a rate), not of the endpoint. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

const answerSchema = z.object({
  data: z.object({ _entities: z.array(z.unknown()).nullish() }).nullish(),
  errors: z
    .array(z.object({ message: z.string(), path: z.array(z.union([z.string(), z.number()])).nullish() }))
    .nullish(),
});

function readEntities(statusCode: number, text: string, count: number): unknown[] {
  if (REFUSALS.has(statusCode)) throw new Error(`refused with status ${statusCode}`);
  const { data, errors } = parseAnswer(statusCode, text);
  const entities = data?._entities;
  const [first] = errors ?? [];
  if (!entities && first && statusCode < 500) throw new Error(`refused: ${first.message}`);
  if (entities?.length !== count) {
    throw new EndpointDown(`status ${statusCode} with ${entities?.length ?? 'no'} entities of ${count}`);
  }
  return entities.map((entity, i) => {
    if (entity !== null) return entity;
    // An error that names no row may be any row's: no null can be taken for an answer then.
    const error = errors?.find(({ path }) => path?.[1] === i) ?? errors?.find(({ path }) => path?.[1] === undefined);
    return error ? new Error(`refused: ${error.message}`) : null;
  });
}

function parseAnswer(statusCode: number, text: string): z.infer<typeof answerSchema> {
  try {
    return answerSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new EndpointDown(`status ${statusCode} without a GraphQL answer`, { cause: error });
  }
}
