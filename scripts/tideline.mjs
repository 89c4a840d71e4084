#!/usr/bin/env node
// `npm run tideline -- COMMAND`: prepares like npm start, then runs the command line with the rest of the arguments.
import './lib/check-node.mjs';
import { spawn } from 'node:child_process';
import os from 'node:os';
import { buildIfStale, generateIfStale } from './lib/build-steps.mjs';
import { installIfStale } from './lib/install.mjs';
import { root } from './lib/stamps.mjs';

installIfStale();
generateIfStale();
buildIfStale();
const program = new URL('../dist/src/cli/main.js', import.meta.url).pathname;
// The caller's folder stays: files are named relative to it.
const cwd = process.env.INIT_CWD ?? process.cwd();
const env = { ...process.env, TIDELINE_DATA_DIR: process.env.TIDELINE_DATA_DIR ?? `${root}/.data` };
const command = spawn(process.execPath, ['--enable-source-maps', program, ...process.argv.slice(2)], {
  cwd,
  env,
  stdio: 'inherit',
});
// From the terminal, Ctrl-C reaches the command by itself.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => command.kill('SIGTERM'));
command.once('exit', (code, signal) => {
  process.exitCode = code ?? 128 + (os.constants.signals[signal] ?? 0);
});
