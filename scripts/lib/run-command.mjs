import { spawnSync } from 'node:child_process';
import { root } from './stamps.mjs';

/** Runs a program of this step in the foreground; ends the process with its exit code when it fails. */
export function runCommand(what, command, args) {
  const { status, signal, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status === 0) return;
  if (!signal) console.error(error ? `${what} failed: ${error.message}` : `${what} failed (exit code ${status}).`);
  // 130 is what a shell reports after Ctrl-C.
  process.exit(signal ? 130 : (status ?? 1));
}

/** Runs a package's program with this very Node: no shell, and no other Node from PATH. */
export function runPackageBin(what, file, args) {
  runCommand(what, process.execPath, [`node_modules/${file}`, ...args]);
}
