import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** True while the process does work: a zombie that nobody has reaped yet counts as gone. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM means that it exists and belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return readLinuxStat(pid)?.state !== 'Z';
}

/**
 * A text that no other process ever shares: pids are used again, so a lock or pid file proves nothing without the
 * moment at which its process started. Null when the process is gone.
 */
export function readProcessStamp(pid: number): string | null {
  if (!isProcessAlive(pid)) return null;
  const stat = readLinuxStat(pid);
  if (stat) return `${readBootId()}:${stat.startTicks}`;
  return runPs(pid, 'lstart=');
}

/** The command line as the process shows it; servers rewrite theirs, so compare by parts. Empty when it is gone. */
export function readCommandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    // No /proc (macOS) or no such process: ps knows which.
    return runPs(pid, 'args=') ?? '';
  }
}

/** Database servers that work in the folder or below it, deleted or not. Linux only: elsewhere the list is empty. */
export function listServersIn(folder: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const cwd = readlinkSync(`/proc/${pid}/cwd`).replace(/ \(deleted\)$/, '');
        if (cwd !== folder && !cwd.startsWith(`${folder}/`)) return false;
      } catch {
        // Gone meanwhile, or another user's.
        return false;
      }
      // A shell or an editor may stand there too.
      return /postgres|initdb|redis-server|valkey-server/.test(readCommandLine(pid).split(' ', 1)[0] ?? '');
    });
}

/** Sends each signal in turn, waiting its time for the process to end. Returns whether it ended. */
export async function stopProcess(
  pid: number,
  steps: readonly { signal: NodeJS.Signals; waitMs: number }[],
): Promise<boolean> {
  for (const { signal, waitMs } of steps) {
    if (!sendSignal(pid, signal)) return true;
    if (await waitUntil(() => !isProcessAlive(pid), waitMs)) return true;
  }
  return !isProcessAlive(pid);
}

/** Polls until the condition holds or the time is up. Returns whether it held. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
  intervalMs = 10,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    if (await condition()) return true;
    if (performance.now() >= deadline) return false;
    await sleep(intervalMs);
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw new Error(`Process ${pid} cannot be stopped: it belongs to another user.`, { cause: error });
  }
}

function readLinuxStat(pid: number): { state: string; startTicks: string } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in brackets and may hold spaces and brackets itself.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', startTicks: fields[19] ?? '' };
  } catch {
    return null;
  }
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    // Some sandboxes hide it; start ticks alone still tell processes of one boot apart.
    return '';
  }
}

function runPs(pid: number, column: string): string | null {
  try {
    return execFileSync('ps', ['-p', String(pid), '-o', column], { encoding: 'utf8', stdio: 'pipe' }).trim() || null;
  } catch {
    return null;
  }
}
