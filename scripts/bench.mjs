#!/usr/bin/env node
// `npm run bench -- NAME [ARGUMENTS]`: runs bench/NAME.ts with the rest of the arguments. Benches measure and assert no
// times; each ends with one line of JSON.
import './lib/check-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { buildIfStale, generateIfStale } from './lib/build-steps.mjs';
import { installIfStale } from './lib/install.mjs';
import { root } from './lib/stamps.mjs';

const [name = '', ...args] = process.argv.slice(2);
const file = `bench/${name}.ts`;
if (!/^[\w-]+$/.test(name) || !existsSync(path.join(root, file))) {
  const names = readdirSync(path.join(root, 'bench')).flatMap((entry) => /^([\w-]+)\.ts$/.exec(entry)?.[1] ?? []);
  console.error(`npm run bench -- NAME, where NAME is one of: ${names.join(', ')}`);
  process.exit(1);
}
installIfStale();
generateIfStale();
// Some measure the built processes.
buildIfStale();
const loader = ['--import', './scripts/lib/register-typescript.mjs'];
const { status } = spawnSync(process.execPath, [...loader, file, ...args], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 1;
