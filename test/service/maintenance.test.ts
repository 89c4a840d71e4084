import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { runMaintenance, type MaintenanceWork } from '../../src/fanout/run-maintenance.js';
import { pushTaskOptions } from '../../src/jobs/catalog.js';
import { saveLease, takeLease } from '../../src/stores/maintenance-lease.js';
import { createInboxStore } from '../../src/wiring/feed.js';
import { listWorks } from '../../src/wiring/maintenance.js';
import { createWorkerDeps } from '../../src/wiring/workers.js';
import { oracleFeed } from '../harness/oracle.js';
import { createWorld, type World } from '../harness/world.js';

const DAY_MS = 86_400_000;
const AUTHORS = [1n, 2n];
const READERS = [11n, 12n, 13n];

describe.each(['redis-packed', 'redis-zset', 'postgres'])('maintenance of inboxes in %s', (store) => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ INBOX_STORE: store, FANOUT_PUSH_THRESHOLD: '100' });
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    await world.reset([...AUTHORS, ...READERS]);
    for (const reader of READERS) {
      for (const author of AUTHORS) await world.social.setFollow(as(reader), author, true);
      await world.read(reader, { first: 5 });
    }
    await world.drain();
  });

  const as = (userId: bigint) => ({ userId, isAdmin: false });
  const query = async (sql: string, values: unknown[] = []) => (await world.app.database.pool.query(sql, values)).rows;
  async function publish(author: bigint): Promise<bigint> {
    world.now.ms += 1;
    const { contentId } = await world.social.publishContent(as(author), { text: 'text' });
    await world.drain();
    return contentId;
  }
  const readInbox = (reader: bigint) =>
    createInboxStore(world.app).read(reader, { from: null, direction: 'older', limit: 100 });
  const held = async (reader: bigint) => {
    const { head, entries } = await readInbox(reader);
    return head && entries.map((entry) => entry.contentId);
  };
  async function expectFeeds(): Promise<void> {
    for (const reader of READERS) {
      const page = await world.read(reader, { first: 50 });
      const expected = await oracleFeed(world.app.database.pool, reader, world.now.ms);
      expect(page.edges.map((edge) => edge.contentId)).toEqual(expected.map((entry) => entry.contentId));
    }
  }

  test('entries that grew old are dropped and the floors raised with them: the feed is whole, and so after later pushes', async () => {
    const old = [await publish(1n), await publish(2n)];
    world.now.ms += 15 * DAY_MS;
    const young = await publish(1n);
    world.now.ms += 10 * DAY_MS;
    await world.maintain();
    expect(await held(11n)).toEqual([young]);
    expect((await readInbox(11n)).head).toMatchObject({
      allFloor: { publishTime: world.now.ms - 20 * DAY_MS, contentId: 0n },
      trimFloor: { publishTime: world.now.ms - 20 * DAY_MS, contentId: 0n },
    });
    await expectFeeds();
    const late = await publish(2n);
    expect((await held(11n))?.slice(0, 2)).toEqual([late, young]);
    await expectFeeds();
    // An inbox that is emptied altogether goes on.
    world.now.ms += 21 * DAY_MS;
    await world.maintain();
    expect(await held(11n)).toEqual([]);
    await expectFeeds();
    expect(old).toHaveLength(2);
  });

  test('a rebuild that is in the middle meanwhile cannot claim what was dropped', async () => {
    await publish(1n);
    world.now.ms += 25 * DAY_MS;
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => (open = resolve));
    let rebuilding: Promise<unknown> | undefined;
    // Waits right before the fill.
    await new Promise<void>((reach) => {
      const gate = { then: (...next: Parameters<Promise<void>['then']>) => (reach(), opened.then(...next)) };
      rebuilding = world.rebuild(11n, gate as Promise<void>);
    });
    await world.maintain();
    open();
    await rebuilding;
    expect((await readInbox(11n)).head?.allFloor.publishTime).toBe(world.now.ms - 20 * DAY_MS);
    await expectFeeds();
  });

  test('deleted and unfollowed entries are taken out, also those that no reader came by, and following again brings them back', async () => {
    const [kept, deleted, unfollowed] = [await publish(1n), await publish(1n), await publish(2n)] as const;
    await world.social.deleteContent(as(1n), deleted);
    await world.social.setFollow(as(11n), 2n, false);
    await world.maintain();
    expect(await held(11n)).toEqual([kept]);
    expect(await held(12n)).toEqual([unfollowed, kept]);
    await expectFeeds();
    await world.social.setFollow(as(11n), 2n, true);
    await expectFeeds();
    await world.drain();
    expect(await held(11n)).toEqual([unfollowed, kept]);
    await expectFeeds();
  });

  test('entries of who was unfollowed and followed again stay, although the inbox does not cover the new follow yet', async () => {
    const contentId = await publish(2n);
    await world.social.setFollow(as(11n), 2n, false);
    await world.social.setFollow(as(11n), 2n, true);
    await world.maintain();
    expect(await held(11n)).toEqual([contentId]);
    await expectFeeds();
  });

  test('inboxes of dormant readers and of removed accounts are freed; who comes back has a whole feed', async () => {
    await publish(1n);
    world.now.ms += 31 * DAY_MS;
    for (const reader of [12n, 13n]) await world.read(reader, { first: 5 });
    await query('DELETE FROM users WHERE id = 13');
    await world.maintain();
    expect([await held(11n), await held(13n)]).toEqual([null, null]);
    expect(await held(12n)).not.toBeNull();
    if (store === 'postgres') expect(await query('SELECT DISTINCT user_id FROM inbox')).toEqual([]);
    else expect(await world.app.redis.keys('*:inbox:*')).toHaveLength(1);
    await publish(1n);
    await expectFeeds();
    await world.drain();
    await expectFeeds();
  });

  test('a deployment with another policy than the one in force leaves the inboxes alone', async () => {
    await publish(1n);
    await query(`UPDATE feed_state SET inbox_store = 'another'`);
    world.now.ms += 40 * DAY_MS;
    await world.maintain();
    expect(await held(11n)).toHaveLength(1);
  });
});

describe('what history leaves behind', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ EVENTS_KEEP_HOURS: '1', TASKS_KEEP_HOURS: '1', FANOUT_PUSH_THRESHOLD: '1' });
  });
  afterAll(() => world.close());
  const query = async (sql: string, values: unknown[] = []) => (await world.app.database.pool.query(sql, values)).rows;
  const as = (userId: bigint) => ({ userId, isAdmin: false });

  test('relayed events and tasks of ended deliveries go when their time is over; what waits, runs or failed stays', async () => {
    await world.reset([1n, 11n, 12n]);
    for (const reader of [11n, 12n]) {
      await world.social.setFollow(as(reader), 1n, true);
      await world.read(reader, { first: 1 });
    }
    const contentIds: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      world.now.ms += 1;
      contentIds.push(String((await world.social.publishContent(as(1n), { text: 'text' })).contentId));
      if (i < 3) await world.drain();
    }
    const [old, recent, failed, waiting] = contentIds;
    const tasks = async () =>
      (await query('SELECT content_id AS id FROM fanout_tasks ORDER BY id')).map((row) => row.id);
    await query(`UPDATE fanouts SET finished_at = now() - interval '2 hours' WHERE content_id = ANY($1)`, [
      [old, failed],
    ]);
    await query(`UPDATE fanouts SET state = 'FAILED' WHERE content_id = $1`, [failed]);
    await query(`UPDATE events SET relayed_at = now() - interval '2 hours' WHERE content_id = $1`, [old]);
    expect(await tasks()).toEqual([old, recent, failed]);
    await world.maintain();
    expect(await tasks()).toEqual([recent, failed]);
    expect((await query('SELECT content_id AS id FROM events ORDER BY id')).map((row) => row.id)).toEqual([
      recent,
      failed,
      waiting,
    ]);
    // The author may ask for it as long as there is the content.
    expect(await query('SELECT state FROM fanouts WHERE content_id = $1', [old])).toEqual([{ state: 'DONE' }]);
    await query(`UPDATE fanouts SET state = 'DONE' WHERE content_id = $1`, [failed]);
  });

  test('the projection of a removed author is freed', async () => {
    await world.reset([1n, 11n, 12n]);
    for (const reader of [11n, 12n]) await world.social.setFollow(as(reader), 1n, true);
    await world.social.publishContent(as(1n), { text: 'text' });
    await world.drain();
    await world.read(11n, { first: 1 });
    await world.drain();
    const projections = () => world.app.redis.keys('*:outbox:*');
    await world.maintain();
    expect(await projections()).toHaveLength(1);
    await query('DELETE FROM users WHERE id = 1');
    await world.maintain();
    expect(await projections()).toEqual([]);
  });

  test('finished jobs are kept in bounded number', async () => {
    const { deps, queues } = createWorkerDeps(world.app);
    const { opts } = await queues.pushTasks.add('push', {} as never, pushTaskOptions(deps.attempts));
    expect(opts).toMatchObject({ removeOnComplete: { count: 200, age: 3_600 }, removeOnFail: { count: 500 } });
    await queues.pushTasks.obliterate({ force: true });
    await queues.close();
  });
});

describe('the lease of a work', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world.close());

  /** Counts to ten, again and again. */
  const counting = (steps: string[], die?: number): MaintenanceWork => ({
    name: 'counting',
    step(position) {
      steps.push(position);
      if (steps.length === die) throw new Error('killed');
      const next = Number(position || 0) + 1;
      return Promise.resolve(next === 10 ? null : String(next));
    },
  });
  const run = (holder: string, works: MaintenanceWork[], budgetMs = 10_000) =>
    runMaintenance({ pool: world.app.database.pool, holder, works, budgetMs, stop: new AbortController().signal });

  test('of two processes one works; when it is killed the other goes on behind its last step, not before its time is over', async () => {
    const [first, second]: string[][] = [[], []];
    await expect(run('a', [counting(first!, 4)])).rejects.toThrow('killed');
    expect(first).toEqual(['', '1', '2', '3']);
    await run('b', [counting(second!)]);
    expect(second).toEqual([]);
    await world.app.database.pool.query('UPDATE maintenance_leases SET expires_at = to_timestamp(0)');
    await run('b', [counting(second!)]);
    expect(second).toEqual(['3', '4', '5', '6', '7', '8', '9']);
    // Whoever wakes up after it was given up for dead has lost it.
    const lease = { name: 'counting', ttlMs: 60_000 };
    expect(await takeLease(world.app.database.pool, { ...lease, holder: 'b' })).toBe('');
    expect(await saveLease(world.app.database.pool, { ...lease, holder: 'a', position: '5' })).toBe(false);
    await saveLease(world.app.database.pool, { ...lease, holder: 'b', position: '', ttlMs: 0 });
  });

  test('a budget that is spent ends a run after its step; the next run goes on there', async () => {
    const steps: string[] = [];
    const slow: MaintenanceWork = {
      name: 'slow',
      async step(position) {
        const end = performance.now() + 2;
        while (performance.now() < end) continue;
        return counting(steps).step(position);
      },
    };
    for (let i = 0; i < 3; i += 1) await run(String(i), [slow], 0);
    expect(steps).toEqual(['', '1', '2']);
  });

  test('the works of the product are these', () => {
    expect(listWorks(world.app).map((work) => work.name)).toEqual(['events', 'tasks', 'inboxes', 'projections']);
  });
});
