// Stamps say from which inputs something was made, by content: times change with every checkout and copy.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** One hash over files and whole folders, given relative to the root; what is absent counts as absent. */
export function hashInputs(names, except = () => false) {
  const hash = createHash('sha256').update(process.version);
  for (const file of names.flatMap((name) => listFiles(name)).filter((name) => !except(name))) {
    hash.update(`${file}\0`).update(readFileSync(path.join(root, file)));
  }
  return hash.digest('hex');
}

export function isStamped(file, hash) {
  const full = path.join(root, file);
  return existsSync(full) && readFileSync(full, 'utf8') === hash;
}

export function writeStamp(file, hash) {
  const full = path.join(root, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, hash);
}

/** Files below a name relative to the root, sorted, with forward slashes. */
export function listFiles(name) {
  const full = path.join(root, name);
  if (!existsSync(full)) return [];
  if (statSync(full).isFile()) return [name];
  return readdirSync(full, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))
    .sort();
}
