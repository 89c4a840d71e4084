import { spawn } from 'node:child_process';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { root } from './stamps.mjs';

// One Ctrl-C arrives twice under npm: from the terminal and passed on by npm. A second press is a second wish.
const samePressMs = 500;
const endWithParent = fileURLToPath(new URL('./end-with-parent.mjs', import.meta.url));

/**
 * Runs a compiled entry and ends as it ends. The child has a process group of its own, so that each signal reaches it
 * exactly once, from here; when this process is killed the child notices and stops by itself.
 */
export function runChild(entry, args) {
  const child = spawn(process.execPath, ['--enable-source-maps', '--import', endWithParent, entry, ...args], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  let lastSentAt = -Infinity;
  const forward = (signal) => {
    const now = performance.now();
    if (now - lastSentAt < samePressMs) return;
    lastSentAt = now;
    child.kill(signal);
  };
  process.on('SIGINT', () => forward('SIGINT'));
  process.on('SIGTERM', () => forward('SIGTERM'));
  // The terminal was closed.
  process.on('SIGHUP', () => forward('SIGTERM'));
  child.once('error', (error) => {
    console.error(`Cannot run ${entry}: ${error.message}`);
    process.exit(1);
  });
  child.once('exit', (code, signal) => process.exit(code ?? 128 + (os.constants.signals[signal] ?? 0)));
}
