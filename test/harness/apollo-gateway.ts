import { ApolloGateway, RemoteGraphQLDataSource, type GraphQLDataSourceProcessOptions } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import type { GraphQLFormattedError } from 'graphql';

interface Context {
  readonly authorization?: string | undefined;
}

/** Both subgraphs behind Apollo's gateway, as docs/federation.md tells a team to set it up. */
export async function startApolloGateway(settings: {
  readonly supergraphSdl: string;
  /** With /graphql, by the name in the supergraph. */
  readonly urls: Readonly<Record<string, string>>;
  readonly isProduction?: boolean;
}): Promise<{ readonly url: string; close(): Promise<void> }> {
  process.env['APOLLO_TELEMETRY_DISABLED'] = '1';
  const { supergraphSdl, urls, isProduction = false } = settings;
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const gateway = new ApolloGateway({
    supergraphSdl,
    logger,
    buildService: ({ name, url }) => new AuthorizedDataSource({ url: urls[name] ?? url ?? '' }),
  });
  const server = new ApolloServer<Context>({
    gateway,
    logger,
    nodeEnv: isProduction ? 'production' : 'development',
    includeStacktraceInErrorResponses: false,
    hideSchemaDetailsFromClientErrors: isProduction,
    stopOnTerminationSignals: false,
    formatError,
  });
  const { url } = await startStandaloneServer(server, {
    listen: { port: 0, host: '127.0.0.1' },
    context: async ({ req }) => ({ authorization: req.headers.authorization }),
  });
  return { url: url.replace(/\/$/, ''), close: () => server.stop() };
}

class AuthorizedDataSource extends RemoteGraphQLDataSource<Context> {
  override willSendRequest({ request, context }: GraphQLDataSourceProcessOptions<Context>): void {
    if (context.authorization !== undefined) request.http?.headers.set('authorization', context.authorization);
  }
}

/** Codes whose messages are written for clients. */
const PUBLIC = new Set([
  ...['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'BAD_USER_INPUT', 'INVALID_CURSOR', 'SERVICE_UNAVAILABLE'],
  ...['OPERATION_TOO_COMPLEX', 'RATE_LIMITED', 'GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED'],
]);

/** The gateway's own messages name subgraphs and their addresses, in production too. */
function formatError({ message, path, locations, extensions }: GraphQLFormattedError): GraphQLFormattedError {
  const code = String(extensions?.['code']);
  const at = { ...(path ? { path } : locations && { locations }) };
  if (PUBLIC.has(code)) return { message, ...at, extensions: { code } };
  if (code === 'INTERNAL_SERVER_ERROR' && extensions?.['serviceName'] && path) {
    return { message: 'Something went wrong.', ...at, extensions: { code } };
  }
  return {
    message: 'A service behind this field is unavailable.',
    ...at,
    extensions: { code: 'SERVICE_UNAVAILABLE' },
  };
}

const ignore = (): void => undefined;
