#!/usr/bin/env node
// `npm run build`: packages, Prisma client and dist/, each made anew only when its inputs changed.
import './lib/check-node.mjs';
import { buildIfStale, generateIfStale } from './lib/build-steps.mjs';
import { installIfStale } from './lib/install.mjs';

installIfStale();
generateIfStale();
buildIfStale();
