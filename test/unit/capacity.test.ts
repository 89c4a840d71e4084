import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';

interface Plan {
  readonly threshold: number;
  readonly entries: number;
  readonly deliveriesASecond: number;
  readonly cores: number;
  readonly redisGiB: number;
  readonly cost: number;
}

const run = (...args: string[]) => spawnSync(process.execPath, ['scripts/capacity.mjs', ...args], { encoding: 'utf8' });
const reckon = (...args: string[]) => JSON.parse(run('--json', ...args).stdout) as { best: Plan; usual: Plan };

describe('npm run capacity', () => {
  test('when everybody is here daily, all is delivered to everybody and full inboxes take 20 bytes an entry', () => {
    const sizes = ['--users', '1000', '--follows', '100', '--posts', '10', '--reads', '100'];
    const { usual } = reckon(...sizes, '--daily', '1', '--monthly', '1');
    expect(usual).toMatchObject({ entries: 1_000_000, deliveriesASecond: 1_000 });
    expect(usual.redisGiB).toBeCloseTo((1_000_000 * 20) / 2 ** 30, 2);
  });

  test('the recommended settings cost no more than the defaults, whatever is dear', () => {
    for (const prices of [
      ['--core-price', '1000'],
      ['--gib-price', '1000'],
    ]) {
      const { best, usual } = reckon('--posts', '100000', ...prices);
      expect(best.cost).toBeLessThanOrEqual(usual.cost);
      expect(best.cost).toBeGreaterThan(0);
    }
  });

  test.each([
    [['--users', 'many'], 'users'],
    [['--daily', '0.9', '--monthly', '0.5'], 'daily <= monthly'],
    [['--users', '10', '--follows', '10'], 'follows < users'],
  ])('refuses %p', (args, name) => {
    const { status, stderr } = run(...args);
    expect(status).toBe(1);
    expect(stderr).toContain(name);
  });
});
