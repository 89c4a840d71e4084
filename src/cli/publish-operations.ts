import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { buildSchema, getOperationAST, parse, validate, type GraphQLSchema } from 'graphql';
import { z } from 'zod';
import { badInput, messageOf } from '../domain/errors.js';
import { parseOperationList, printOperationList } from '../gateway/operation-list.js';
import { hashOf } from '../gateway/persisted-operations.js';
import { findProjectFile } from '../project-files.js';

export function addPublishOperationsCommand(program: Command): void {
  program
    .command('publish-operations')
    .description(
      'add operations to the list that a gateway with PERSISTED_OPERATIONS_FILE answers, after validating them',
    )
    .argument('<files...>', '.graphql: one document as clients send it; .json: Relay’s or Apollo’s manifest')
    .requiredOption(
      '--to <list>',
      'the list: made when it does not exist, replaced whole so that gateways can reload it',
    )
    .option('--supergraph <file>', 'what they are validated against', findProjectFile('schema/supergraph.graphql'))
    .option('--replace', 'drop what the list held before')
    .action((files: string[], { to, supergraph, replace }: { to: string; supergraph: string; replace?: boolean }) => {
      const schema = buildSchema(readFileSync(supergraph, 'utf8'), { assumeValidSDL: true });
      const texts = new Set(replace || !existsSync(to) ? [] : parseOperationList(readFileSync(to, 'utf8')).values());
      for (const file of files) {
        for (const text of readOperations(file)) {
          requireValid(schema, text, file);
          texts.add(text);
          console.log(`${hashOf(text)} ${nameOf(text)}`);
        }
      }
      // Repeatable: the list is a set, and a reader sees the one before or the new one.
      writeFileSync(`${to}.new`, printOperationList(texts));
      renameSync(`${to}.new`, to);
      console.log(`${texts.size} operations in ${to}`);
    });
}

/** hash -> text, as relay-compiler writes it, or Apollo's persisted query manifest. */
const manifest = z.union([
  z
    .object({ operations: z.array(z.object({ body: z.string() })) })
    .transform(({ operations }) => operations.map(({ body }) => body)),
  z.record(z.string(), z.string()).transform((texts) => Object.values(texts)),
]);

function readOperations(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  if (!file.endsWith('.json')) return [text];
  const read = manifest.safeParse(JSON.parse(text));
  if (!read.success) throw badInput(`${file} is neither a map of texts nor a manifest with operations.`);
  return read.data;
}

function requireValid(schema: GraphQLSchema, text: string, file: string): void {
  const [error] = validate(schema, parseIn(text, file));
  if (error) throw badInput(`${file}, ${nameOf(text)}: ${error.message}`);
}

function parseIn(text: string, file: string) {
  try {
    return parse(text);
  } catch (error) {
    throw badInput(`${file}: ${messageOf(error)}`);
  }
}

const nameOf = (text: string): string => getOperationAST(parse(text))?.name?.value ?? '(without a name)';
