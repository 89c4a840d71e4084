// A child of bench/page.ts: the same page from memory, by `constant` (a JSON text over HTTP) or by `apollo` (Apollo Server
// with its defaults). Its parent sends the answer and the SDL.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { parse } from 'graphql';

interface Setup {
  readonly kind: 'constant' | 'apollo';
  readonly typeDefs: string;
  readonly data: { readonly timelineFeed: object };
}

process.once('disconnect', () => process.exit(0));
const [setup] = (await once(process, 'message')) as [Setup];
process.send?.({ url: await (setup.kind === 'constant' ? serveConstant(setup) : serveApollo(setup)) });

async function serveConstant({ data }: Setup): Promise<string> {
  const body = JSON.stringify({ data });
  const server = createServer((request, response) => {
    request.resume().once('end', () => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        .end(body);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function serveApollo({ typeDefs, data }: Setup): Promise<string> {
  const node = { __resolveType: (value: object) => ('contentId' in value ? 'Content' : 'User') };
  const resolvers = { Query: { timelineFeed: () => data.timelineFeed }, Node: node };
  const schema = buildSubgraphSchema([{ typeDefs: parse(typeDefs), resolvers }]);
  const { url } = await startStandaloneServer(new ApolloServer({ schema }), { listen: { port: 0, host: '127.0.0.1' } });
  return url;
}
