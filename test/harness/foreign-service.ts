import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buildSchema, graphql, GraphQLError } from 'graphql';

/** What somebody else's graph may look like: their own schema, of which a few fields are those that Tideline asks for. */
const SDL = `
  scalar _Any
  union _Entity = Content | User
  type Query { _entities(representations: [_Any!]!): [_Entity]! weather: String }
  type Content {
    contentId: ID! headline: String text: String! media: [Picture!]! publishTime: String! visibility: String!
    author: User counters: Tally viewerHasLiked: Boolean }
  type User { userId: ID! handle: String! displayName: String! avatarUrl: String karma: Int! }
  type Picture { url: String! kind: String! width: Int height: Int altText: String }
  type Tally { likes: Int! comments: Int! reposts: Int! favorites: Int! }`;

export interface ReceivedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly query: string;
  readonly representations: readonly { __typename: string; contentId?: string; userId?: string }[];
}

/** A row as the service's resolvers give it: fields, null for none, or an Error. */
export type ForeignRow = Readonly<Record<string, unknown>> | null | Error;

/** An answer that does not come from GraphQL; `hang`: none, `cut`: the connection is closed; null: as usual. */
export type Manner = { readonly status: number; readonly body: string } | 'hang' | 'cut' | null;

export interface ForeignService {
  /** Of its GraphQL endpoint. */
  readonly url: string;
  readonly requests: ReceivedRequest[];
  /** Connections that were opened so far. */
  readonly connections: number;
  readonly contents: Map<string, ForeignRow>;
  readonly users: Map<string, ForeignRow>;
  /** How requests are answered from now on. */
  misbehave(choose: (request: ReceivedRequest) => Manner): void;
  close(): Promise<void>;
}

/** A small GraphQL server that shares nothing with Tideline but the words of the contract. */
export async function startForeignService(port = 0): Promise<ForeignService> {
  const schema = buildSchema(SDL);
  Object.assign(schema.getType('_Any')!, { parseValue: (value: unknown) => value });
  const contents = new Map<string, ForeignRow>();
  const users = new Map<string, ForeignRow>();
  const requests: ReceivedRequest[] = [];
  const sockets = new Set<Socket>();
  let opened = 0;
  let chooseManner: (request: ReceivedRequest) => Manner = () => null;

  const rootValue = {
    _entities: ({ representations }: Pick<ReceivedRequest, 'representations'>) =>
      representations.map(({ __typename, contentId = '', userId = '' }) => {
        const row = (__typename === 'User' ? users.get(userId) : contents.get(contentId)) ?? null;
        return row instanceof Error ? new GraphQLError(row.message) : row && { __typename, contentId, userId, ...row };
      }),
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { query, variables } = JSON.parse(Buffer.concat(chunks).toString()) as {
        query: string;
        variables: Pick<ReceivedRequest, 'representations'>;
      };
      const received = { headers: request.headers, query, representations: variables.representations };
      requests.push(received);
      const manner = chooseManner(received);
      if (manner === 'hang') return;
      if (manner === 'cut') {
        request.socket.destroy();
        return;
      }
      if (manner) {
        response.writeHead(manner.status, { 'content-type': 'application/json' }).end(manner.body);
        return;
      }
      void graphql({ schema, source: query, variableValues: { ...variables }, rootValue }).then((result) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result));
      });
    });
  });
  server.on('connection', (socket) => {
    opened += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/graph`,
    requests,
    get connections() {
      return opened;
    },
    contents,
    users,
    misbehave: (choose) => void (chooseManner = choose),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
