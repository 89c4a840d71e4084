#!/usr/bin/env node
// Runs the checker of the public contract where it lies beside the repository; elsewhere there is nothing to compare.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const checker = fileURLToPath(new URL('../../shared/tools/contract-check.mjs', import.meta.url));

if (existsSync(checker)) {
  process.exitCode = spawnSync(process.execPath, [checker], { cwd: root, stdio: 'inherit' }).status ?? 1;
} else {
  console.log('No contract beside this repository: skipped');
}
