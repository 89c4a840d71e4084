import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { Registry } from 'prom-client';
import type { Entry } from '../../src/domain/entry.js';
import type { FeedDeps } from '../../src/feed/feed.js';
import { createMetrics } from '../../src/metrics.js';
import { compareWalk } from '../../src/verify/compare-walk.js';
import { readOracle, type Oracle, type OracleEntry } from '../../src/verify/oracle.js';
import { auditOnce, startAudit } from '../../src/verify/start-audit.js';
import { isFaulty, verifyReader } from '../../src/verify/verify-reader.js';
import { oracleFeed } from '../harness/oracle.js';
import { createWorld, type World } from '../harness/world.js';

const USERS = [1n, 2n, 3n, 4n, 5n];
const READER = 2n;
const as = (userId: bigint) => ({ userId, isAdmin: false });
const idsOf = (entries: readonly Entry[]): bigint[] => entries.map((entry) => entry.contentId);

let world: World;
beforeAll(async () => {
  world = await createWorld({ INBOX_MAX_ENTRIES: '50', INBOX_STORE: 'redis-zset' });
});
afterAll(() => world.close());

/** Everyone follows 1 (a big account) and 3; the reader's inbox is filled; five posts each are delivered. */
beforeEach(async () => {
  await world.reset(USERS);
  // The command line has no other clock than the real one.
  world.now.ms = Date.now() - 60_000;
  for (const follower of USERS) {
    for (const followee of [1n, 3n])
      if (follower !== followee) await world.social.setFollow(as(follower), followee, true);
  }
  for (const reader of USERS) await world.read(reader, { first: 5 });
  await world.drain();
  for (let i = 0; i < 5; i += 1) for (const author of [1n, 3n]) await publish(author);
  await world.drain();
});

async function publish(author: bigint, input = {}): Promise<bigint> {
  world.now.ms += 10;
  return (await world.social.publishContent(as(author), { text: 'text', ...input })).contentId;
}

/** Looks, and repairs nothing. */
const observer = (): FeedDeps => ({ ...world.feed, isObserver: true });
const verify = (feed = observer(), pageSize = 3) => verifyReader(feed, READER, { pageSize });
const contentIds = async () => idsOf(await oracleFeed(world.app.database.pool, READER, world.now.ms));
const memberOf = (contentId: bigint) => contentId.toString().padStart(20, '0');
const inboxKey = async () => (await world.app.redis.keys(`*inbox:${READER}`))[0]!;

/** As if an entry had been lost behind the inbox's back: its head still answers for it. */
async function loseEntry(contentId: bigint): Promise<void> {
  expect(await world.app.redis.zrem(await inboxKey(), memberOf(contentId))).toBe(1);
}

/** A read path that takes contents for something else than they are. */
function tamperFacts(feed: FeedDeps, change: (row: Row) => Row): FeedDeps {
  const query = async (...args: unknown[]) => {
    const result = await (feed.pool.query as (...args: unknown[]) => Promise<{ rows: Row[] }>)(...args);
    return (args[0] as { name: string }).name === 'content_facts' ? { rows: result.rows.map(change) } : result;
  };
  const pool = new Proxy(feed.pool, { get: (target, key) => (key === 'query' ? query : Reflect.get(target, key)) });
  return { ...feed, pool };
}
type Row = Record<string, unknown>;

describe('verifying a reader', () => {
  it('finds nothing in a clean world', async () => {
    expect(await verify()).toEqual({ userId: READER, shown: 10, missing: [], extra: [], misordered: [] });
  });

  it('finds an entry that the inbox has lost while its head answers for it', async () => {
    const ids = await contentIds();
    await loseEntry(ids[4]!);
    const verdict = await verify();
    expect(idsOf(verdict.missing)).toEqual([ids[4]]);
    expect(verdict).toMatchObject({ shown: 9, extra: [], misordered: [] });
  });

  it('finds an entry at a wrong place, shown or not', async () => {
    const ids = await contentIds();
    world.now.ms += 1;
    const place = world.now.ms;
    await world.app.redis.zadd(await inboxKey(), place, memberOf(ids[6]!));
    const moved = (row: Row) => (row['id'] === String(ids[6]) ? { ...row, publish_time: place } : row);
    const { missing, extra, misordered } = await verify(tamperFacts(observer(), moved));
    // The entry below it stands above its place; from there on all is in order again.
    expect(idsOf(misordered)).toEqual([ids[0]]);
    expect([missing, extra]).toEqual([[], []]);
    expect(idsOf((await verify()).missing)).toEqual([ids[6]]);
  });

  it('finds an entry that is shown although it was deleted', async () => {
    const [newest] = await contentIds();
    await world.social.deleteContent(as(3n), newest!);
    expect(isFaulty(await verify())).toBe(false);
    const { missing, extra, misordered } = await verify(
      tamperFacts(observer(), (row) => ({ ...row, is_deleted: false })),
    );
    expect(idsOf(extra)).toEqual([newest]);
    expect([missing, misordered]).toEqual([[], []]);
  });

  it('judges a depth-limited feed down to its limit only', async () => {
    expect(await verify({ ...observer(), maxDepth: 7 })).toMatchObject({ shown: 7, missing: [], extra: [] });
  });

  it('asks an oracle that agrees with the plain one on reposts, visibilities, blocks, times and own posts', async () => {
    const [hidden, followersOnly] = [
      await publish(4n, { visibility: 'PRIVATE' }),
      await publish(4n, { visibility: 'FOLLOWERS' }),
    ];
    await world.social.setFollow(as(3n), 4n, true);
    const open = await publish(4n);
    for (const repostOf of [followersOnly, open]) await publish(3n, { text: '', repostOf });
    const quote = await publish(3n, { text: 'see', repostOf: open });
    await publish(1n, { text: 'see that', repostOf: quote });
    await publish(1n, { text: 'of a reader', repostOf: await publish(READER) });
    for (const visibility of ['PRIVATE', 'FOLLOWERS'] as const) await publish(3n, { visibility });
    await world.publishAt(3n, { publishTime: world.now.ms + 3_600_000, contentId: 2n ** 64n - 1n });
    await expectAgreement();
    await world.social.setBlock(as(4n), READER, true);
    await expectAgreement();
    await world.social.deleteContent(as(4n), open);
    await expectAgreement();
    world.now.ms += 3_600_001;
    await expectAgreement();
    expect(hidden).toBeDefined();

    async function expectAgreement(): Promise<void> {
      for (const userId of USERS) {
        const { pool } = world.app.database;
        const nowMs = world.now.ms;
        const oracle = await readOracle({ pool, includeOwn: false }, userId, { nowMs, limit: 100 });
        expect(idsOf(oracle.entries)).toEqual(idsOf(await oracleFeed(pool, userId, nowMs)));
      }
    }
  });
});

describe('a walk between two oracles', () => {
  const NOW = 100;
  const entry = (n: number, version = 'v'): OracleEntry => ({ publishTime: n, contentId: BigInt(n), version });
  const oracle = (...entries: OracleEntry[]): Oracle => ({ nowMs: NOW, entries, end: null });
  const judge = (walked: number[], before: Oracle, after: Oracle, isWhole = true) => {
    const faults = compareWalk(
      walked.map((n) => entry(n)),
      { before, after, isWhole },
    );
    return Object.values(faults).map(idsOf);
  };

  it('may show or not show what was published, deleted or brought back meanwhile', () => {
    const before = oracle(entry(5), entry(4), entry(3));
    const after = oracle(entry(6), entry(5), entry(4, 'hidden and shown again'));
    for (const walked of [[5], [5, 4], [6, 5, 3], [6, 5, 4, 3]])
      expect(judge(walked, before, after)).toEqual([[], [], []]);
  });

  it('may show what was published after its start and gone before its end', () => {
    const still = oracle(entry(3));
    expect(judge([NOW + 1, 3], still, still)).toEqual([[], [], []]);
    expect(judge([NOW, 3], still, still)).toEqual([[], [BigInt(NOW)], []]);
  });

  it('owes what stood all the time, as far as it went', () => {
    const still = oracle(entry(3), entry(2), entry(1));
    expect(judge([3, 1], still, still)).toEqual([[2n], [], []]);
    expect(judge([3], still, still, false)).toEqual([[], [], []]);
    expect(judge([], still, still)).toEqual([[3n, 2n, 1n], [], []]);
  });

  it('shows nothing else, nothing twice and nothing out of order', () => {
    const still = oracle(entry(3), entry(2), entry(1));
    expect(judge([9, 3, 2, 1], still, still)).toEqual([[], [9n], []]);
    expect(judge([3, 2, 2, 1], still, still)).toEqual([[], [], [2n]]);
    expect(judge([3, 1, 2], still, still)).toEqual([[], [], [2n]]);
  });

  it('is not judged below the end of an oracle', () => {
    const short: Oracle = { nowMs: NOW, entries: [entry(9), entry(8)], end: entry(8) };
    expect(judge([9, 8, 7], short, short, false)).toEqual([[], [], []]);
  });
});

describe('the audit', () => {
  const audited = async (feed: FeedDeps) => {
    const registry = new Registry();
    const logged: object[] = [];
    const log = { error: (details: object) => logged.push(details), warn: (details: object) => logged.push(details) };
    await auditOnce({ feed, intervalMs: 0, log: log as never, metrics: createMetrics(registry) });
    const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('tideline_audit'));
    return { lines, logged };
  };

  it('counts a clean feed', async () => {
    expect(await audited(observer())).toEqual({ lines: ['tideline_audits_total{result="clean"} 1'], logged: [] });
  });

  it('counts faults by kind and logs the reader and the contents', async () => {
    const [newest] = await contentIds();
    await loseEntry(newest!);
    await world.app.database.pool.query('DELETE FROM activity WHERE user_id <> $1', [READER]);
    const { lines, logged } = await audited(observer());
    expect(lines).toEqual([
      'tideline_audits_total{result="faulty"} 1',
      'tideline_audit_faults_total{kind="missing"} 1',
    ]);
    expect(logged).toEqual([{ userId: '2', missing: [String(newest)], extra: [], misordered: [] }]);
  });

  it('counts a failure and goes on', async () => {
    const pool = { query: () => Promise.reject(new Error('away')) } as unknown as FeedDeps['pool'];
    const { lines, logged } = await audited({ ...world.feed, pool });
    expect(lines).toEqual(['tideline_audits_total{result="failed"} 1']);
    expect(logged).toEqual([{ error: 'away' }]);
  });

  it('runs one at a time until it is closed, and not at all with an interval of 0', async () => {
    let [running, most, audits] = [0, 0, 0];
    const pool = {
      query: async () => {
        most = Math.max(most, (running += 1));
        await new Promise((resolve) => setTimeout(resolve, 5));
        [running, audits] = [running - 1, audits + 1];
        return { rows: [] };
      },
    } as unknown as FeedDeps['pool'];
    const deps = { feed: { ...world.feed, pool }, log: world.app.log, metrics: createMetrics(new Registry()) };
    const off = startAudit({ ...deps, intervalMs: 0 });
    await off.close();
    const audit = startAudit({ ...deps, intervalMs: 1 });
    while (audits < 3) await new Promise(setImmediate);
    await audit.close();
    const [settled] = [audits];
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([running, most, audits]).toEqual([0, 1, settled]);
  });
});

describe('the command line', () => {
  let store = 'redis-zset';
  const run = async (...args: string[]) => {
    const { DATABASE_URL, REDIS_URL } = world.app.config;
    const env = { ...process.env, NODE_OPTIONS: '', DATABASE_URL, REDIS_URL, INBOX_STORE: store };
    const flags = ['--import', './scripts/lib/register-typescript.mjs', 'src/cli/main.ts'];
    return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      execFile(process.execPath, [...flags, ...args], { env }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      });
    });
  };

  it('verify ends with 0 when all is well, with 1 and the ids when not; rebuild repairs', async () => {
    const clean = await run('verify', '--page-size', '3');
    expect(clean).toEqual({
      code: 0,
      stdout: '5 feeds, 40 entries: all as they must be (missing 0, extra 0, misordered 0).\n',
      stderr: '',
    });
    const ids = await contentIds();
    await loseEntry(ids[1]!);
    const faulty = await run('verify');
    expect(faulty).toEqual({
      code: 1,
      stdout: `user 2, 9 entries\n  missing: ${ids[1]}\n5 feeds, 39 entries: 1 faulty (missing 1, extra 0, misordered 0).\n`,
      stderr: '',
    });
    const asJson = await run('verify', '--json');
    expect(asJson.code).toBe(1);
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      users: 5,
      missing: 1,
      faulty: [{ userId: '2', missing: [String(ids[1])] }],
    });

    const rebuilt = await run('rebuild', '2');
    expect(rebuilt.stderr).toBe('');
    expect(rebuilt.stdout).toMatch(
      /^The inbox of user 2 is written: 10 entries\.\n {2}allFloor {5}complete to the end\n/,
    );
    expect((await run('verify', '--users', '5')).code).toBe(0);
  });

  it.each(['redis-packed', 'redis-zset', 'postgres'])('inbox prints what %s holds, newest first', async (name) => {
    store = name;
    await world.setPolicy({ INBOX_STORE: store });
    await world.loseInbox(2n);
    const missing = await run('inbox', '2');
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining(`User 2 has no inbox in ${store}`)]);
    await world.rebuild(2n);
    const ids = (await contentIds()).map(String);
    const { stdout } = await run('inbox', '2');
    const lines = stdout.trim().split('\n');
    expect(lines.slice(0, 2)).toEqual([
      expect.stringMatching(new RegExp(`^Inbox of user 2 in ${store}.*: 10 entries$`)),
      '  allFloor     complete to the end',
    ]);
    expect(lines.slice(4).map((line) => line.split('  ')[1])).toEqual(ids);
    const asJson = JSON.parse((await run('inbox', '2', '--json')).stdout);
    expect(asJson.entries.map((entry: { contentId: string }) => entry.contentId)).toEqual(ids);
  });

  it('refuses bad numbers, and a rebuild that nobody would read', async () => {
    expect((await run('verify', '--users', '0')).code).toBe(1);
    await world.setPolicy({ FEED_MODE: 'pull' });
    const { code, stderr } = await run('rebuild', '2');
    expect([code, stderr.split(':')[1]]).toEqual([1, ' The inbox of user 2 was not written']);
  });
});
