// Files that are generated and checked in: written by default, compared with `check`.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, Source } from 'graphql';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The parsed SDL of schema/<name>.graphql; ends the process with the place of a syntax error. */
export function readSchema(name) {
  const file = `schema/${name}.graphql`;
  try {
    return parse(new Source(readFileSync(path.join(root, file), 'utf8'), file));
  } catch (error) {
    console.error(String(error));
    process.exit(1);
  }
}

/** Writes the files, or compares them with what is on disk. Returns the exit code: 1 when one is stale. */
export function settleFiles(files, { check, command }) {
  const stale = files.filter(({ filename, text }) => readIfThere(filename) !== text);
  for (const { filename, text } of check ? [] : stale) {
    writeFileSync(path.join(root, filename), text);
    console.log(`wrote ${filename}`);
  }
  for (const { filename } of check ? stale : [])
    console.error(`${filename} is stale: run \`${command}\` and commit it`);
  if (stale.length === 0) console.log(`${files.map((file) => file.filename).join(', ')}: up to date`);
  return check && stale.length > 0 ? 1 : 0;
}

function readIfThere(filename) {
  const file = path.join(root, filename);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
