// Module hooks of register-typescript.mjs: './x.js' finds x.ts, and swc strips the types.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

export function resolve(specifier, context, next) {
  const source = typescriptOf(specifier, context.parentURL);
  return next(source ?? specifier, context);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(await readFile(filename, 'utf8'), {
    filename,
    swcrc: false,
    sourceMaps: 'inline',
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
    module: { type: 'es6' },
  });
  return { format: 'module', source: code, shortCircuit: true };
}

function typescriptOf(specifier, parentURL) {
  if (!specifier.startsWith('.') || !specifier.endsWith('.js') || !parentURL?.endsWith('.ts')) return undefined;
  const url = new URL(specifier.replace(/\.js$/, '.ts'), parentURL);
  return existsSync(url) ? url.href : undefined;
}
