import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildClientSchema, getIntrospectionQuery, printSchema, type IntrospectionQuery } from 'graphql';
import type { Stack } from '../harness/stack.js';

/**
 * Runs relay-compiler over documents and the schema that the gateway shows to its clients, as the build of a Relay
 * application does, and gives back the artifacts by name.
 * @param documents of a module called `feed`: Relay wants its name in theirs
 * @throws with what the compiler says when it does not accept the schema
 */
export async function compileRelay<Name extends string>(
  stack: Stack,
  documents: string,
  names: readonly Name[],
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- what the compiler wrote has no types
): Promise<Record<Name, any>> {
  const { body } = await stack.post(getIntrospectionQuery(), undefined, await stack.tokenFor('1'));
  const folder = mkdtempSync(path.join(process.env['TIDELINE_TEST_DIR'] ?? '', 'relay-'));
  const write = (name: string, text: string) => writeFileSync(path.join(folder, name), text);
  for (const name of ['source', 'artifacts']) mkdirSync(path.join(folder, name));
  write('schema.graphql', printSchema(buildClientSchema(body.data as unknown as IntrospectionQuery)));
  write('source/feed.js', `graphql\`${documents}\`;`);
  write('package.json', '{ "type": "module" }');
  write(
    'relay.config.json',
    JSON.stringify({
      src: './source',
      schema: './schema.graphql',
      artifactDirectory: './artifacts',
      language: 'javascript',
      eagerEsModules: true,
    }),
  );
  // The package is the path of its program.
  const compiler = createRequire(import.meta.url)('relay-compiler') as string;
  execFileSync(compiler, ['relay.config.json'], { cwd: folder, stdio: 'pipe', encoding: 'utf8' });
  const loaded = await Promise.all(
    names.map(async (name) => {
      const file = pathToFileURL(path.join(folder, 'artifacts', `${name}.graphql.js`)).href;
      return [name, ((await import(file)) as { default: unknown }).default] as const;
    }),
  );
  return Object.fromEntries(loaded) as Record<Name, unknown>;
}
