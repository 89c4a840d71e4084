import {
  createGatewayRuntime,
  Logger as HiveLogger,
  type GatewayPlugin,
  type GatewayRuntime,
} from '@graphql-hive/gateway-runtime';
import { unifiedGraphHandler } from '@graphql-hive/router-runtime';
import { execute, GraphQLError, parse, type ExecutionArgs, type ExecutionResult } from 'graphql';
import type { Config } from '../config.js';
import type { ErrorCode } from '../domain/errors.js';
import type { Allowance } from '../domain/token-bucket.js';
import type { Logger } from '../log.js';
import { mapStream } from '../streaming/results.js';
import { maskErrors } from './errors.js';
import { loadGraphiql } from './graphiql.js';
import { limitOperations } from './limit-operations.js';
import { LIVE_ONLY } from './live.js';
import { allowOnlyListed, answerPersistedQueries } from './persisted-operations.js';
import { createTransport, type TransportSettings } from './transport.js';

export interface RuntimeSettings {
  readonly config: Config;
  readonly log: Logger;
  /** The SDL. */
  readonly supergraph: string;
  /** The only operations that are answered, by hash; null: any. */
  readonly listedOperations: ReadonlyMap<string, string> | null;
  readonly stores: GatewayStores;
  /** By the name of the subgraph in the supergraph. */
  readonly subgraphUrls: Readonly<Record<string, string>>;
  readonly graphiqlToken?: string | undefined;
}

/** What the gateway keeps outside of its process, where it has a place for it. */
export interface GatewayStores {
  readonly takePoints?: ((key: string, cost: number) => Promise<Allowance>) | undefined;
  readonly queryTexts?: { get(hash: string): Promise<string | null>; set(hash: string, text: string): Promise<void> };
}

/** Hive's gateway without its own process, server, reporting and error texts. */
export async function createRuntime(settings: RuntimeSettings): Promise<GatewayRuntime> {
  const { config, log, supergraph, listedOperations, stores } = settings;
  const graphiql = config.isProduction ? { graphiql: false } : await loadGraphiql(settings.graphiqlToken);
  return withoutSignalHandlers(() =>
    createGatewayRuntime({
      supergraph,
      unifiedGraphHandler,
      transports: { http: createTransport(transportSettings(config)) },
      transportEntries: Object.fromEntries(
        Object.entries(settings.subgraphUrls).map(([name, location]) => [name, { location }]),
      ),
      ...graphiql,
      graphqlEndpoint: '/graphql',
      landingPage: false,
      batching: false,
      multipart: false,
      cors: false,
      // The server in front made or checked it, and the transport passes it on.
      requestId: false,
      ...(config.isProduction && { disableIntrospection: {} }),
      // maskErrors sees every error; Yoga's own masking would drop codes, and tell more in development.
      maskedErrors: { maskError: (error) => error as Error },
      logging: new HiveLogger({ level: false }),
      plugins: () => [
        limitOperations({ config, supergraph: parse(supergraph), takePoints: stores.takePoints ?? null }),
        // After the limits: a text is kept when it has passed them.
        listedOperations ? allowOnlyListed(listedOperations) : answerPersistedQueries(stores.queryTexts ?? null, log),
        refuseOtherThanLive,
        completeData,
        presentErrors(config, log),
      ],
    }),
  );
}

const transportSettings = (config: Config): TransportSettings => ({
  timeoutMsOf: (subgraph) => config.SUBGRAPH_TIMEOUTS_MS[subgraph] ?? config.SUBGRAPH_TIMEOUT_MS,
  readAttempts: config.SUBGRAPH_READ_ATTEMPTS,
});

/** By WebSocket subscriptions only: who writes and reads goes through all that guards HTTP requests. */
const refuseOtherThanLive: GatewayPlugin = {
  onExecute({ args, setResultAndStopExecution }) {
    if (args.contextValue[LIVE_ONLY] !== true) return;
    const extensions = { code: 'BAD_USER_INPUT' satisfies ErrorCode };
    setResultAndStopExecution({
      errors: [new GraphQLError('Only subscriptions are answered by WebSocket.', { extensions })],
    });
  },
};

/**
 * When every subgraph of an operation failed, the router leaves `data` out, as for a request that was not executed. Run
 * over an empty root, GraphQL itself says which fields become null and how far that spreads.
 */
const completeData: GatewayPlugin = {
  onExecute: ({ args }) => ({
    async onExecuteDone(done) {
      const { result } = done;
      if (!isSingle(result) || 'data' in result || !result.errors?.some((error) => error.path)) return;
      const { schema, document, variableValues, operationName } = args as ExecutionArgs;
      const { data } = await execute({ schema, document, variableValues, operationName, rootValue: {} });
      done.setResult({ ...result, data: data ?? null });
    },
  }),
};

const presentErrors = (config: Config, log: Logger): GatewayPlugin => ({
  onResultProcess(processed) {
    const { request, result } = processed;
    const requestId = request.headers.get('x-request-id');
    const mask = (errors: NonNullable<ExecutionResult['errors']>) =>
      maskErrors(errors, {
        hideSuggestions: config.isProduction,
        extraCodes: config.EXTRA_ERROR_CODES,
        // Not the error as a whole: its extensions may hold what users wrote.
        onHidden: ({ message, extensions, path }) => {
          const { code, serviceName: subgraph } = extensions;
          log.error({ reason: message, code, subgraph, path, requestId }, 'an error that the client does not see');
        },
      });
    const present = (single: ExecutionResult): ExecutionResult =>
      single.errors ? { ...single, errors: mask(single.errors) } : single;
    if (isSingle(result)) processed.setResult(present(result));
    else if (isStream(result)) processed.setResult(mapStream(result, present));
  },
});

const isSingle = (result: unknown): result is ExecutionResult =>
  typeof result === 'object' && result !== null && !Array.isArray(result) && !(Symbol.asyncIterator in result);

const isStream = (result: unknown): result is AsyncIterable<ExecutionResult> =>
  typeof result === 'object' && result !== null && Symbol.asyncIterator in result;

/** The runtime would abort requests in flight at the first SIGTERM; here the server drains them first. */
function withoutSignalHandlers<T>(create: () => T): T {
  const signals = ['SIGINT', 'SIGTERM', 'exit'] as const;
  const before = new Set(signals.flatMap((signal) => process.listeners(signal as 'exit')));
  const created = create();
  for (const signal of signals) {
    for (const listener of process.listeners(signal as 'exit')) {
      if (!before.has(listener)) process.off(signal, listener);
    }
  }
  return created;
}
