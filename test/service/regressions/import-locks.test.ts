import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { planFanout } from '../../../src/fanout/plan-fanout.js';
import { readFeed } from '../../../src/feed/feed.js';
import { importLines } from '../../../src/import/import-lines.js';
import { inTransaction } from '../../../src/stores/database.js';
import { ensureUser } from '../../../src/stores/users.js';
import { createWorkerDeps } from '../../../src/wiring/workers.js';
import { oracleFeed } from '../../harness/oracle.js';
import { createWorld, type World } from '../../harness/world.js';

// An import locks everybody it names and then starts a new epoch; a plan locks its author and holds the epoch still.

const AUTHOR = 1n;
const READERS = [2n, 3n, 4n];

let world: World;
beforeAll(async () => {
  world = await createWorld({ FANOUT_CHUNK_SIZE: '10', DATABASE_POOL_SIZE: '20' });
});
afterAll(() => world.close());
beforeEach(async () => {
  await world.reset([AUTHOR, ...READERS, 5n, 6n]);
  for (const reader of READERS) {
    await world.social.setFollow(as(reader), AUTHOR, true);
    await readFeed(world.feed, reader, { first: 5 });
  }
  await world.drain();
});

const as = (userId: bigint) => ({ userId, isAdmin: false });
const publish = async (author: bigint) => {
  world.now.ms += 1;
  return (await world.social.publishContent(as(author), { text: 'text' })).contentId;
};
/** Follows the author, writes contents (which nothing delivers) and touches the counters of `liked`. */
const importBeside = (liked: bigint) =>
  importLines(
    { database: world.app.database, clock: () => world.now.ms },
    [
      { kind: 'follow', follower: '5', followee: '1', at: 1 },
      { kind: 'content', id: '99', author: '1', publishTime: 5, text: 'old' },
      { kind: 'like', user: '6', content: String(liked), at: 1 },
    ].map((line, i) => ({ lineNo: i + 1, text: JSON.stringify(line) })),
  );
/** Waits until so many sessions of this database wait for a lock. */
async function untilWaiting(sessions: number): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    const { rows } = await world.app.database.pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (rows.length >= sessions) return;
    await new Promise((r) => setTimeout(r, 10));
  }
  throw new Error(`fewer than ${sessions} sessions wait for a lock`);
}
/** A row that somebody changes until it is let go. */
async function hold(sql: string, id: bigint): Promise<() => Promise<void>> {
  const client = await world.app.database.pool.connect();
  await client.query('BEGIN');
  await client.query(sql, [id]);
  return async () => {
    await client.query('COMMIT');
    client.release();
  };
}
async function expectDelivered(contentId: bigint): Promise<void> {
  await world.drain();
  for (const reader of [...READERS, 5n]) {
    const expected = (await oracleFeed(world.app.database.pool, reader, world.now.ms)).map((it) => it.contentId);
    expect(expected).toContain(contentId);
    expect((await readFeed(world.feed, reader, { first: 10 })).edges.map((it) => it.contentId)).toEqual(expected);
  }
}

// Two places where an import can be slow: with the users locked, and right before it changes the epoch.
test.each([
  ['counters', 'SELECT FROM content_counters WHERE content_id = $1 FOR UPDATE'],
  ['epoch', 'SELECT FROM feed_state WHERE id = 1 AND $1::numeric IS NOT NULL FOR UPDATE'],
])('a plan that meets an import which waits for the %s waits for it, and both end', async (_, sql) => {
  const liked = await publish(2n);
  await world.drain();
  await world.app.database.pool.query('INSERT INTO content_counters (content_id) VALUES ($1)', [liked]);
  const letGo = await hold(sql, liked);
  const running: Promise<unknown>[] = [];
  const contentId = await (async () => {
    try {
      running.push(importBeside(liked));
      await untilWaiting(1);
      const published = await publish(AUTHOR);
      await world.relay();
      running.push(world.dispatchOne());
      await untilWaiting(2);
      return published;
    } finally {
      await letGo();
      await Promise.allSettled(running);
    }
  })();
  expect(await Promise.all(running)).toMatchObject([{ badLines: 0 }, true]);
  expect(await world.app.database.pool.query('SELECT FROM fanouts WHERE NOT is_planned')).toMatchObject({
    rowCount: 0,
  });
  await expectDelivered(contentId);
});

test('an import that meets a plan waits for it, and both end', async () => {
  const liked = await publish(2n);
  const contentId = await publish(AUTHOR);
  let open = (): void => undefined;
  let reach = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const { queues, deps } = createWorkerDeps(world.app);
  // The plan stops with all its locks, right before it ends.
  const outboxes = {
    insert: async () => {
      reach();
      await opened;
      return { delivered: 0, absent: 1 };
    },
  };
  try {
    const planning = planFanout({ ...deps, outboxes }, contentId, 0);
    planning.catch(() => undefined);
    await reached;
    const importing = importBeside(liked);
    importing.catch(() => undefined);
    await untilWaiting(1);
    open();
    expect(await planning).toMatchObject({ end: 'planned' });
    expect(await importing).toMatchObject({ badLines: 0 });
  } finally {
    open();
    await queues.close();
  }
  await expectDelivered(contentId);
});

test('a command of somebody whose row another one changes does not wait for it', async () => {
  const letGo = await hold('UPDATE users SET follower_count = follower_count + 1 WHERE id = $1', AUTHOR);
  try {
    await inTransaction(world.app.database.pool, async (client) => {
      await client.query(`SET LOCAL lock_timeout = '500ms'`);
      await ensureUser(client, AUTHOR);
    });
    await publish(AUTHOR);
  } finally {
    await letGo();
  }
});
