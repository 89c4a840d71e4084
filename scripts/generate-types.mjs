#!/usr/bin/env node
// Writes src/subgraphs/<name>/generated.ts, the resolver types of each subgraph, from schema/<name>.graphql.
// The files are checked in; `--check` writes nothing and fails when one of them is stale.
import { codegen } from '@graphql-codegen/core';
import * as typescriptPlugin from '@graphql-codegen/typescript';
import * as resolversPlugin from '@graphql-codegen/typescript-resolvers';
import { buildASTSchema } from 'graphql';
import { readSchema, settleFiles } from './lib/checked-in.mjs';

// What a resolver of this GraphQL type receives as its parent: '<import path>#<type>', seen from the generated file.
// A type without a mapper is handed over field by field, in the shape of the schema.
const mappers = {
  timeline: {
    User: '../shareable.js#UserRef',
    Content: '../shareable.js#ContentRef',
    TimelineConnection: '../../feed/feed.js#FeedPage',
    TimelineEdge: '../../feed/feed.js#FeedEdge',
    PageInfo: '../../feed/feed.js#FeedPage',
    Fanout: '../../feed/read-fanout.js#FanoutReport',
  },
  social: {
    User: '../shareable.js#UserRef',
    Content: '../shareable.js#ContentRef',
    Comment: '../../social/read-social.js#StoredComment',
  },
};

const scalars = {
  ID: 'string',
  DateTime: { input: 'string', output: 'Date | string' },
};

const config = {
  federation: true,
  disableFederationDirectiveAndScalarInjection: true,
  useTypeImports: true,
  contextType: '../context.js#RequestContext',
  scalars,
  defaultScalarType: 'unknown',
  // Unions of literals: erased at run time, and the same strings as Prisma's enums.
  enumsAsTypes: true,
  // A forgotten nullable field, query or mutation is a type error; clients may leave nullable inputs out.
  avoidOptionals: { field: true, inputValue: false, object: false, defaultValue: true, query: true, mutation: true },
  makeResolverTypeCallable: true,
  maybeValue: 'T | null',
  inputMaybeValue: 'T | null | undefined',
};

const files = await Promise.all(Object.keys(mappers).map(generateTypes));
process.exitCode = settleFiles(files, { check: process.argv.includes('--check'), command: 'npm run generate' });

async function generateTypes(name) {
  const filename = `src/subgraphs/${name}/generated.ts`;
  const body = await codegen({
    filename,
    // @link imports @key, @shareable and the like from outside the document, so the SDL alone is not valid.
    schemaAst: buildASTSchema(readSchema(name), { assumeValidSDL: true }),
    documents: [],
    config: { ...config, mappers: mappers[name] },
    plugins: [{ typescript: {} }, { resolvers: {} }],
    pluginMap: { typescript: typescriptPlugin, resolvers: resolversPlugin },
  });
  return {
    filename,
    text: `// Generated from schema/${name}.graphql by scripts/generate-types.mjs. Do not edit.\n${requireReferences(body)}\n`,
  };
}

// The plugin lets an entity go without a reference resolver, and therefore types every parent as "the entity, or just
// its key". Here each entity must have one, so that a field resolver may rely on a whole parent; and it must be async,
// because a synchronous throw in one nulls every row of that entity.
function requireReferences(body) {
  return body
    .replace(/(type ReferenceResolver<[^;]*=> Promise<TResult>) \| TResult;/, '$1;')
    .replaceAll('__resolveReference?:', '__resolveReference:')
    .replaceAll(
      ' | FederationReferenceType, FederationReferenceType, ContextType>;',
      ', FederationReferenceType, ContextType>;',
    )
    .replaceAll(/ \| FederationReferenceTypes\['\w+'\];/g, ';');
}
