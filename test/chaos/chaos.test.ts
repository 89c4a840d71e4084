import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { FAULT_KINDS } from './faults.js';

test('nothing is lost, shown twice, misordered or left unfinished under any fault', async () => {
  const flags = ['--import', './scripts/lib/register-typescript.mjs', 'test/chaos/chaos.ts', '--small'];
  const { code, stdout, stderr } = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    const env = { PATH: process.env['PATH'], REDIS_SERVER_BIN: process.env['REDIS_SERVER_BIN'] };
    execFile(process.execPath, [...flags, '--seconds', '12'], { env }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
  // Its own account of what happened.
  expect(code === 0 ? '' : `${stderr}${stdout}`).toBe('');
  const outcome = JSON.parse(stdout) as { faults: object; feeds: object };
  expect(outcome).toMatchObject({ lost: 0, duplicated: 0, misordered: 0, extra: 0, unfinished: 0, crashed: 0 });
  expect(Object.keys(outcome.faults).sort()).toEqual([...FAULT_KINDS].sort());
}, 600_000);
