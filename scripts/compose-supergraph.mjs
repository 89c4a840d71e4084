#!/usr/bin/env node
// Composes schema/timeline.graphql and schema/social.graphql into schema/supergraph.graphql, which the gateway reads.
// The file is checked in; `--check` writes nothing and fails when it is stale. Either fails when they do not compose.
import { compositionHasErrors, composeServices } from '@theguild/federation-composition';
import { readSchema, settleFiles } from './lib/checked-in.mjs';

// Where a development machine serves the subgraphs; the gateway replaces them with its own settings.
const subgraphs = [
  { name: 'timeline', url: 'http://127.0.0.1:4001/graphql' },
  { name: 'social', url: 'http://127.0.0.1:4002/graphql' },
];

process.exitCode = composeSupergraph();

function composeSupergraph() {
  const result = composeServices(subgraphs.map(({ name, url }) => ({ name, url, typeDefs: readSchema(name) })));
  if (compositionHasErrors(result)) {
    console.error(`The subgraphs do not compose:\n${result.errors.map(describeError).join('\n')}`);
    return 1;
  }
  const header = '# Composed from timeline.graphql and social.graphql by scripts/compose-supergraph.mjs. Do not edit.';
  const body = result.supergraphSdl.trim().replaceAll(/[ \t]+$/gm, '');
  return settleFiles([{ filename: 'schema/supergraph.graphql', text: `${header}\n${body}\n` }], {
    check: process.argv.includes('--check'),
    command: 'npm run generate',
  });
}

function describeError(error) {
  const places = (error.locations ?? []).map(({ line, column }) => `${error.source?.name ?? ''}:${line}:${column}`);
  return `  - ${error.extensions?.code ?? 'ERROR'}: ${error.message}${places.length > 0 ? ` (${places.join(', ')})` : ''}`;
}
