import { createHash } from 'node:crypto';
import type { GatewayPlugin } from '@graphql-hive/gateway-runtime';
import { GraphQLError, type ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../domain/errors.js';
import type { Logger } from '../log.js';
import { factsOf } from './request-context.js';

/** Texts by their SHA-256 in hex, kept where all gateways find them. */
interface QueryTexts {
  get(hash: string): Promise<string | null>;
  set(hash: string, text: string): Promise<void>;
}

/** Parameters of a request as it came: any JSON. */
interface RequestParams {
  query?: string;
  extensions?: { persistedQuery?: { sha256Hash?: unknown } };
  documentId?: unknown;
}

const LOCAL_TEXTS_BYTES = 16 * 1024 * 1024;

/**
 * Automatic persisted queries: a client sends the hash, and the text once when nobody here knows it. A text is kept when its
 * operation has been validated and paid for, so that nobody fills the store with nonsense. While the store is away the
 * texts of this process still serve, and clients send others again.
 */
export function answerPersistedQueries(store: QueryTexts | null, log: Logger): GatewayPlugin {
  const local = new LRUCache<string, string>({
    maxSize: LOCAL_TEXTS_BYTES,
    sizeCalculation: (text) => text.length || 1,
  });

  async function find(hash: string): Promise<string | null> {
    const text = local.get(hash) ?? (await store?.get(hash).catch(warn)) ?? null;
    if (text !== null) local.set(hash, text);
    return text;
  }
  const warn = (error: unknown): null => {
    log.warn({ err: error }, 'persisted queries');
    return null;
  };

  return {
    async onParams({ params, context, setParams, setResult }) {
      const hash = hashIn(params as RequestParams);
      if (hash === null) return;
      if (params.query) {
        if (hashOf(params.query) !== hash) setResult(refusal('BAD_USER_INPUT', 'The hash is not that of the query.'));
        else {
          const facts = factsOf(context);
          if (facts) facts.sent = { hash, text: params.query };
        }
        return;
      }
      const query = await find(hash);
      if (query === null) setResult(NOT_FOUND);
      else setParams(withQuery(params, query));
    },
    onExecute({ args }) {
      const sent = factsOf(args.contextValue)?.sent;
      if (!sent || local.has(sent.hash)) return;
      local.set(sent.hash, sent.text);
      store?.set(sent.hash, sent.text).catch(warn);
    },
  };
}

/**
 * Only the listed operations, asked for by hash or by text. An operation that is not listed is refused before it is parsed.
 * @param texts by their SHA-256 in hex
 */
export const allowOnlyListed = (texts: ReadonlyMap<string, string>): GatewayPlugin => ({
  onParams({ params, setParams, setResult }) {
    const hash = hashIn(params as RequestParams) ?? (params.query ? hashOf(params.query) : null);
    const query = hash === null ? undefined : texts.get(hash);
    if (query === undefined) setResult(refusal('FORBIDDEN', 'This operation is not on the list of this gateway.'));
    else setParams(withQuery(params, query));
  },
});

/** Without `documentId`, which the runtime would take for a mistake. */
const withQuery = (params: RequestParams, query: string) => ({ ...params, documentId: undefined, query });

/** As Apollo's clients send it, or `documentId` of GraphQL over HTTP, with or without its `sha256:`. */
function hashIn({ extensions, documentId }: RequestParams): string | null {
  const hash = extensions?.persistedQuery?.sha256Hash ?? documentId;
  const hex = typeof hash === 'string' ? hash.replace(/^sha256:/, '').toLowerCase() : null;
  return hex !== null && /^[\da-f]{64}$/.test(hex) ? hex : null;
}

/** The name of an operation's text. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The message and code that clients know. */
const NOT_FOUND: ExecutionResult = {
  errors: [new GraphQLError('PersistedQueryNotFound', { extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } })],
};

const refusal = (code: ErrorCode, message: string): ExecutionResult => ({
  errors: [new GraphQLError(message, { extensions: { code, http: { status: 400, spec: true } } })],
});
