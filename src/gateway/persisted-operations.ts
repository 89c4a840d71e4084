import { createHash } from 'node:crypto';
import type { GatewayPlugin } from '@graphql-hive/gateway-runtime';
import { GraphQLError } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../domain/errors.js';
import type { Logger } from '../log.js';
import { factsOf } from './request-context.js';

/** Texts by their SHA-256 in hex, kept where all gateways find them. */
interface QueryTexts {
  get(hash: string): Promise<string | null>;
  set(hash: string, text: string): Promise<void>;
}

/** Parameters of a request as it came: any JSON, looked at before the runtime has checked it. */
interface RequestParams {
  readonly query?: unknown;
  readonly extensions?: { readonly persistedQuery?: { readonly sha256Hash?: unknown } | null } | null;
  readonly documentId?: unknown;
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
    async onParams({ params, context, setParams }) {
      const { hash, text } = readParams(params);
      if (hash === null) return;
      if (text === null) {
        const query = await find(hash);
        if (query === null) throw notFound();
        setParams(withQuery(params, query));
        return;
      }
      if (hashOf(text) !== hash) throw refusal('BAD_USER_INPUT', 'The hash is not that of the query.');
      const facts = factsOf(context);
      if (facts) facts.sent = { hash, text };
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
  onParams({ params, setParams }) {
    const { hash, text } = readParams(params);
    const query = texts.get(hash ?? (text === null ? '' : hashOf(text)));
    if (query === undefined) throw refusal('FORBIDDEN', 'This operation is not on the list of this gateway.');
    setParams(withQuery(params, query));
  },
});

/** Without `documentId`, which the runtime would take for a mistake. */
const withQuery = (params: object, query: string) => ({ ...params, documentId: undefined, query });

/** The hash as Apollo's clients send it, or as `documentId` of GraphQL over HTTP, with or without its `sha256:`. */
function readParams(params: unknown): { readonly hash: string | null; readonly text: string | null } {
  const { query, extensions, documentId } = (params ?? {}) as RequestParams;
  const hash = extensions?.persistedQuery?.sha256Hash ?? documentId;
  const hex = typeof hash === 'string' ? hash.replace(/^sha256:/, '').toLowerCase() : '';
  return {
    hash: /^[\da-f]{64}$/.test(hex) ? hex : null,
    text: typeof query === 'string' && query !== '' ? query : null,
  };
}

/** The name of an operation's text. */
export const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The message and code that clients know. */
const notFound = () =>
  new GraphQLError('PersistedQueryNotFound', { extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } });

const refusal = (code: ErrorCode, message: string) =>
  new GraphQLError(message, { extensions: { code, http: { status: 400, spec: true } } });
