#!/usr/bin/env node
// `npm run check`: every check that needs no running service, two at a time. `npm run check -- lint typecheck` runs those.
import { spawn } from 'node:child_process';
import os from 'node:os';

// The slow ones first, so that the short ones fill the gaps.
const checks = [
  'lint',
  'typecheck',
  'check:drift',
  'format:check',
  'check:boundaries',
  'check:unused',
  'check:types-generated',
  'check:supergraph',
  'check:contract',
  'check:docker',
];

const startedAt = Date.now();
const chosen = process.argv.length > 2 ? process.argv.slice(2) : checks;
// Lint, types and boundaries all read the generated Prisma client.
const prepared = await runScript('generate:client');
const failed = prepared ? await runAll([...chosen]) : ['generate:client'];
const seconds = ((Date.now() - startedAt) / 1000).toFixed(0);
console.log(failed.length === 0 ? `All checks passed in ${seconds} s` : `Failed in ${seconds} s: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function runAll(queue) {
  const failures = [];
  const runNext = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      if (!(await runScript(name))) failures.push(name);
    }
  };
  await Promise.all(Array.from({ length: Math.min(os.availableParallelism(), 4) }, runNext));
  return failures;
}

/** Prints one line when the script passes, and all that it said when it does not. */
function runScript(name) {
  return new Promise((resolve) => {
    const began = Date.now();
    const child = spawn('npm', ['run', '--silent', name], { stdio: ['ignore', 'pipe', 'pipe'] });
    const output = [];
    child.stdout.on('data', (chunk) => output.push(chunk));
    child.stderr.on('data', (chunk) => output.push(chunk));
    child.once('error', (error) => output.push(Buffer.from(String(error))));
    child.once('close', (code) => {
      const seconds = ((Date.now() - began) / 1000).toFixed(1);
      console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
      if (code !== 0) console.log(Buffer.concat(output).toString().trimEnd());
      resolve(code === 0);
    });
  });
}
