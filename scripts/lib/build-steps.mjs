import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { runPackageBin } from './run-command.mjs';
import { hashInputs, isStamped, listFiles, root, writeStamp } from './stamps.mjs';

const clientStamp = 'src/generated/.stamp';
const buildStamp = 'dist/.stamp';

/** The Prisma client in src/generated, from prisma/schema.prisma. */
export function generateIfStale() {
  const hash = hashInputs(['prisma/schema.prisma', 'prisma.config.ts', 'node_modules/prisma/package.json']);
  if (isStamped(clientStamp, hash)) return;
  console.error('Generating the Prisma client ...');
  runPackageBin('prisma generate', 'prisma/build/index.js', ['generate', '--no-hints']);
  writeStamp(clientStamp, hash);
}

/** dist/ from src/ and workers/, with the files that are not TypeScript beside the code that reads them. */
export function buildIfStale() {
  const settings = ['tsconfig.json', 'tsconfig.build.json', 'node_modules/.tideline-installed'];
  const hash = hashInputs(['src', 'workers', ...settings], (file) => file === clientStamp);
  if (isStamped(buildStamp, hash)) return;
  console.error('Compiling ...');
  // A build that fails half way must not pass for the one before.
  rmSync(path.join(root, buildStamp), { force: true });
  runPackageBin('tsc', 'typescript/bin/tsc', ['-p', 'tsconfig.build.json']);
  removeOrphans();
  copyAssets();
  writeStamp(buildStamp, hash);
}

/** What was compiled from a source that is gone would still be found by imports. */
function removeOrphans() {
  for (const file of [...listFiles('dist/src'), ...listFiles('dist/workers')]) {
    const source = file.slice('dist/'.length).replace(/\.js(\.map)?$/, '.ts');
    if (!existsSync(path.join(root, source))) rmSync(path.join(root, file));
  }
}

function copyAssets() {
  for (const file of [...listFiles('src'), ...listFiles('workers')]) {
    if (file.endsWith('.ts') || path.basename(file).startsWith('.')) continue;
    const target = path.join(root, 'dist', file);
    mkdirSync(path.dirname(target), { recursive: true });
    copyFileSync(path.join(root, file), target);
  }
}
