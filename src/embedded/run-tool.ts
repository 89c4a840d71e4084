import { spawnSync } from 'node:child_process';

/** Runs a tool of the system, three minutes at most; one that is missing counts as failed. */
export function runTool(
  command: string,
  args: readonly string[],
  cwd = '/',
  env: Record<string, string> = {},
): { ok: boolean; output: string } {
  const { status, stdout } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    timeout: 180_000,
    env: { ...process.env, ...env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
  });
  return { ok: status === 0, output: status === null ? '' : stdout };
}
