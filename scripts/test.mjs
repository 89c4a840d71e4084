#!/usr/bin/env node
// `npm test`: prepares like npm start, then runs Jest; arguments go to Jest (`npm test -- test/unit`).
import './lib/check-node.mjs';
import { spawn } from 'node:child_process';
import os from 'node:os';
import { generateIfStale } from './lib/build-steps.mjs';
import { installIfStale } from './lib/install.mjs';
import { root } from './lib/stamps.mjs';

installIfStale();
generateIfStale();
// Jest runs ES modules through node:vm, still behind a flag; its workers inherit both.
const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
const jest = spawn(process.execPath, [...flags, 'node_modules/jest/bin/jest.js', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
// Ctrl-C reaches Jest from the terminal, and its setup cleans up; a signal sent to this process alone is passed on.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => jest.kill('SIGTERM'));
process.on('SIGHUP', () => jest.kill('SIGHUP'));
jest.once('exit', (code, signal) => {
  process.exitCode = code ?? 128 + (os.constants.signals[signal] ?? 0);
});
