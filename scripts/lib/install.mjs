import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from './run-command.mjs';
import { hashInputs, isStamped, root, writeStamp } from './stamps.mjs';

const stamp = 'node_modules/.tideline-installed';

/** `npm ci` when node_modules is missing or does not match package-lock.json; nothing when it does. */
export function installIfStale() {
  const hash = hashInputs(['package-lock.json', 'package.json']);
  if (isStamped(stamp, hash)) return;
  if (!matchesLock()) {
    console.error('Installing packages (once, about a minute) ...');
    const hasLock = existsSync(path.join(root, 'package-lock.json'));
    // The npm that runs this script, if one does; else the one on PATH.
    const npm = process.env.npm_execpath?.endsWith('.js') ? [process.execPath, process.env.npm_execpath] : ['npm'];
    const args = [hasLock ? 'ci' : 'install', '--include=dev', '--no-audit', '--no-fund'];
    runCommand('The installation of packages', npm[0], [...npm.slice(1), ...args]);
  }
  writeStamp(stamp, hashInputs(['package-lock.json', 'package.json']));
}

/** Installed by hand or by CI, without our stamp: npm notes in node_modules what it put there. */
function matchesLock() {
  const wanted = readPackages('package-lock.json');
  const present = readPackages('node_modules/.package-lock.json');
  if (!wanted || !present) return false;
  return Object.entries(wanted).every(([name, entry]) => {
    // Optional packages are of another platform when they are absent; links and the root itself are not installed.
    if (name === '' || entry.link || (entry.optional && !present[name])) return true;
    return present[name]?.version === entry.version;
  });
}

function readPackages(file) {
  const full = path.join(root, file);
  return existsSync(full) ? JSON.parse(readFileSync(full, 'utf8')).packages : undefined;
}
