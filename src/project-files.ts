import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file of the project, such as `schema/supergraph.graphql`. Walks up: this file lies in src/ or in dist/src/. */
export function findProjectFile(relativePath: string): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const candidate = join(folder, relativePath);
    if (existsSync(candidate)) return candidate;
  }
  throw new Error(`${relativePath} is not beside the program.`);
}
