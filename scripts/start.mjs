#!/usr/bin/env node
// `npm start`: everything from a fresh clone to a running service. A second start finds its stamps and is quick.
import './lib/check-node.mjs';
import { buildIfStale, generateIfStale } from './lib/build-steps.mjs';
import { installIfStale } from './lib/install.mjs';
import { runChild } from './lib/run-child.mjs';

installIfStale();
generateIfStale();
buildIfStale();
runChild('dist/src/main.js', process.argv.slice(2));
