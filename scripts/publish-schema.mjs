#!/usr/bin/env node
// `npm run schema [-- FOLDER]`: writes each subgraph's SDL as the subgraph itself answers it to `_service { sdl }`, for a schema
// registry or somebody else's composition; into dist/schema by default.
import './lib/check-node.mjs';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { graphqlSync, parse } from 'graphql';
import { root } from './lib/stamps.mjs';

const folder = path.resolve(root, process.argv[2] ?? 'dist/schema');
mkdirSync(folder, { recursive: true });
for (const name of ['timeline', 'social']) {
  const typeDefs = parse(readFileSync(path.join(root, 'schema', `${name}.graphql`), 'utf8'));
  const { data, errors } = graphqlSync({
    schema: buildSubgraphSchema([{ typeDefs }]),
    source: '{ _service { sdl } }',
  });
  if (errors) throw errors[0];
  const file = path.join(folder, `${name}.graphql`);
  writeFileSync(file, `${data._service.sdl.trimEnd()}\n`);
  console.log(path.relative(process.cwd(), file));
}
