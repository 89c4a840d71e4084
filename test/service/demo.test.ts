import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateDemo } from '../../src/demo/generate-demo.js';
import { loadDemo, READER_ID } from '../../src/demo/load-demo.js';
import { openDatabase, type Database } from '../../src/stores/database.js';
import { createTestDatabase } from '../harness/services.js';

const NOW = 1_750_000_000_000;
const log = { info: () => undefined };

describe('the demo', () => {
  let database: Database;
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const test = await createTestDatabase();
    drop = () => test.drop();
    database = openDatabase({ url: test.databaseUrl, poolSize: 2, onError: () => undefined });
  });
  afterAll(async () => {
    await database.close();
    await drop();
  });

  it('is the same world for the same seed, moved to the time of loading', () => {
    const at = (nowMs: number, seed = 1) => JSON.stringify([...generateDemo({ seed, nowMs })]);
    expect(at(NOW)).toBe(at(NOW));
    expect(at(NOW)).not.toBe(at(NOW, 2));
  });

  it('leaves no slot of a text unfilled, and shows no hidden future', () => {
    const isFaulty = (line: Record<string, unknown>): boolean =>
      ['at', 'publishTime', 'lastActiveAt'].some((field) => Number(line[field] ?? 0) > NOW) ||
      /[{}]|undefined/.test(JSON.stringify(line['text'] ?? '').slice(1, -1));
    expect([...generateDemo({ seed: 7, nowMs: NOW })].filter(isFaulty)).toEqual([]);
  });

  it('loads into an empty database once, without a bad line', async () => {
    expect(await loadDemo({ database, clock: () => NOW, log })).toBe(true);
    expect(await loadDemo({ database, clock: () => NOW, log })).toBe(false);
    const read = async (sql: string) => (await database.pool.query(sql)).rows[0];
    expect(await read('SELECT count(*) AS n FROM users')).toEqual({ n: '300' });
    expect(await read(`SELECT handle, following_count FROM users WHERE id = ${READER_ID}`)).toEqual({
      handle: 'ann',
      following_count: 40,
    });
    expect(await read('SELECT count(*) AS n, max(publish_time) AS newest FROM contents')).toEqual({
      n: '3000',
      newest: String(NOW - 120_000),
    });
  });

  it('has a few accounts that very many follow, among them those of the reader', async () => {
    const { rows } = await database.pool.query(
      `SELECT follower_count AS n, EXISTS (SELECT FROM follows WHERE follower_id = 1 AND followee_id = id) AS read
       FROM users WHERE id <> 1 ORDER BY follower_count DESC`,
    );
    expect(rows[0].n).toBeGreaterThan(150);
    expect(rows[150].n).toBeLessThan(20);
    expect(rows.slice(0, 5).every((row) => row.read)).toBe(true);
  });
});
