import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isDatabaseAway } from '../../../src/stores/database-away.js';
import { inTransaction, openDatabase, type Database } from '../../../src/stores/database.js';
import { lockFeedState, readEpoch, registerRedis } from '../../../src/stores/feed-state.js';
import { startProxy, type Proxy } from '../../harness/proxy.js';
import { createTestDatabase } from '../../harness/services.js';

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let proxy: Proxy;
let frozen: Database;
let others: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  proxy = await startProxy(testDatabase.databaseUrl);
  const options = { poolSize: 2, onError: () => undefined };
  frozen = openDatabase({ ...options, url: proxy.url, transactionIdleMs: 200 });
  others = openDatabase({ ...options, url: testDatabase.databaseUrl });
});
afterAll(async () => {
  proxy.resume();
  await frozen.close();
  await others.close();
  await proxy.close();
  await testDatabase.drop();
});

test('a dispatcher that freezes while it holds the policy does not keep readers from a Redis that took over', async () => {
  const epoch = await readEpoch(others.pool);
  const plan = inTransaction(frozen.pool, async (client) => {
    await lockFeedState(client);
    proxy.pause();
    // What a reader does first with a new Redis; without a limit it waits for the lock until its own statement times out.
    expect(await registerRedis(others.pool, 'another one')).toBe(epoch + 1n);
    proxy.resume();
    await client.query('SELECT 1');
  });
  // Not the task's fault: its job is put back.
  const error: unknown = await plan.catch((error: unknown) => error);
  expect(isDatabaseAway(error)).toBe(true);
}, 25_000);
