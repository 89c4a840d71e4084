import { unavailable } from '../domain/errors.js';
import { openRemoteEndpoint, type RemoteCall, type RemoteEndpoint } from './remote-endpoint.js';
import {
  CONTENT_FIELDS,
  COUNTER_FIELDS,
  decodeContent,
  decodeCounters,
  decodeLiked,
  decodeUser,
  LIKED_FIELDS,
  USER_FIELDS,
} from './remote-rows.js';
import type { Asker, Found, Sources } from './sources.js';

export interface RemoteSourceSettings {
  /** CONTENT_SOURCE_URL, USER_SOURCE_URL, COUNTER_SOURCE_URL: GraphQL endpoints. Those left out are not made. */
  readonly urls: { readonly [Name in keyof Sources]?: string | undefined };
  /** SOURCE_BATCH_MAX: entities of one request. */
  readonly batchMax: number;
  /** SOURCE_CONNECTIONS, to each endpoint. */
  readonly connections: number;
  readonly onChange: (url: string, state: 'open' | 'closed') => void;
}

export interface RemoteSources {
  readonly sources: Partial<Sources>;
  close(): Promise<void>;
}

/**
 * Sources over other people's services: federated subgraphs that are asked by `_entities`, as a gateway asks them. Those
 * with one URL share its connections and its breaker.
 */
export function createRemoteSources({ urls, batchMax, connections, onChange }: RemoteSourceSettings): RemoteSources {
  const endpoints = new Map<string, RemoteEndpoint>();
  const endpointOf = (url: string): RemoteEndpoint => {
    const known = endpoints.get(url);
    if (known) return known;
    const endpoint = openRemoteEndpoint({
      url,
      connections,
      onChange: (state) => {
        onChange(url, state);
      },
    });
    endpoints.set(url, endpoint);
    return endpoint;
  };
  const find = <V>(url: string, lookup: Lookup<V>) => createFind(endpointOf(url), batchMax, lookup);

  const { contents, users, counters } = urls;
  const findLiked = counters && find(counters, LIKED);
  return {
    sources: {
      ...(contents && { contents: { findContents: find(contents, CONTENTS) } }),
      ...(users && { users: { findUsers: find(users, USERS) } }),
      ...(counters && findLiked && { counters: { findCounters: find(counters, COUNTERS), findLiked } }),
    },
    async close() {
      await Promise.all([...endpoints.values()].map((endpoint) => endpoint.close()));
    },
  };
}

/** One kind of question. */
interface Lookup<V> {
  readonly name: string;
  readonly type: 'Content' | 'User';
  readonly key: 'contentId' | 'userId';
  readonly fields: string;
  readonly decode: (row: unknown, id: bigint) => V;
}

const OF_CONTENT = { type: 'Content', key: 'contentId' } as const;
const CONTENTS = { ...OF_CONTENT, name: 'content', fields: CONTENT_FIELDS, decode: decodeContent };
const COUNTERS = { ...OF_CONTENT, name: 'counter', fields: COUNTER_FIELDS, decode: decodeCounters };
const LIKED = { ...OF_CONTENT, name: 'counter', fields: LIKED_FIELDS, decode: decodeLiked };
const USERS = { type: 'User', key: 'userId', name: 'user', fields: USER_FIELDS, decode: decodeUser } as const;

function createFind<V>(endpoint: RemoteEndpoint, batchMax: number, lookup: Lookup<V>) {
  const { name, type, key, fields, decode } = lookup;
  const query = `query Tideline_${name}($representations: [_Any!]!) {
    _entities(representations: $representations) { __typename ${fields} } }`;

  async function findBatch(ids: readonly bigint[], call: RemoteCall): Promise<[bigint, V | Error][]> {
    const representations = ids.map((id) => ({ __typename: type, [key]: id.toString() }));
    const rows = await endpoint.findEntities(query, representations, call);
    return ids.flatMap((id, i): [bigint, V | Error][] => {
      const outcome = decodeRow(rows[i], id);
      return outcome === null ? [] : [[id, outcome]];
    });
  }

  function decodeRow(row: unknown, id: bigint): V | Error | null {
    if (row === null) return null;
    try {
      if (row instanceof Error) throw row;
      return decode(row, id);
    } catch (error) {
      return unavailable(`The ${name} service gave no usable answer for this.`, error);
    }
  }

  /** Of several batches those that fail cost their own ids; when all do, the service failed. */
  return async (ids: readonly bigint[], signal: AbortSignal, asker: Asker): Promise<Found<V>> => {
    const batches = Array.from({ length: Math.ceil(ids.length / batchMax) }, (_, i) =>
      ids.slice(i * batchMax, (i + 1) * batchMax),
    );
    const answers = await Promise.allSettled(batches.map((batch) => findBatch(batch, { signal, asker })));
    const failures = answers.filter((answer) => answer.status === 'rejected');
    if (failures[0] && failures.length === batches.length) throw failures[0].reason;
    return new Map(
      answers.flatMap((answer, i): [bigint, V | Error][] => {
        if (answer.status === 'fulfilled') return answer.value;
        const error = unavailable(`The ${name} service cannot be reached.`, answer.reason);
        return (batches[i] ?? []).map((id) => [id, error]);
      }),
    );
  };
}
