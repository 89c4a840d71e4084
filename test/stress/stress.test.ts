import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { createTestDatabase, startTestRedis } from '../harness/services.js';

test('under concurrent writers, readers and workers each read lies between two oracles', async () => {
  const [database, redis] = await Promise.all([createTestDatabase(), startTestRedis()]);
  const flags = ['--import', './scripts/lib/register-typescript.mjs', 'test/stress/stress.ts', '--small'];
  const stores = ['--database-url', database.databaseUrl, '--redis-url', redis.redisUrl];
  const { code, stdout, stderr } = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    const env = { PATH: process.env['PATH'] };
    execFile(process.execPath, [...flags, '--seconds', '10', ...stores], { env }, (error, stdout, stderr) => {
      resolve({ code: error?.code ?? 0, stdout, stderr });
    });
  });
  // Its own account of each fault.
  expect(code === 0 ? '' : stderr).toBe('');
  const outcome = JSON.parse(stdout) as { reads: number; deliveries: number; published: number };
  expect(Math.min(outcome.reads, outcome.published, outcome.deliveries)).toBeGreaterThan(0);
  expect(outcome).toMatchObject({ verify: { users: 300, faulty: 0 } });
  await redis.stop();
  await database.drop();
}, 180_000);
