import type { Entry } from '../../src/domain/entry.js';
import type { Pool } from '../../src/stores/database.js';
import { createFeed, type Feed } from '../../src/wiring/feed.js';
import { runChild } from './crowd.js';
import { FAULT_KINDS, judgeRead } from './judge-read.js';

// A process that reads first pages and walks with cursors, as the timeline subgraph does, with the rebuilding behind it.
// Each read must lie between the oracle before it and the oracle after it.

const report = {
  /** Steps that failed because a store was away. */
  outages: 0,
  reads: 0,
  entries: 0,
  slowestMs: 0,
  /** Took so long that the oracles may have missed a state between them. */
  notJudged: 0,
  faults: { missing: 0, extra: 0, misordered: 0, duplicated: 0 },
  /** The first ones, with what the stores say right after. */
  examples: [] as object[],
};
export type ReaderReport = typeof report;

const EXAMPLES_MAX = 5;
const PAGE_SIZE_MAX = 50;
const PAGES_MAX = 6;

/** What an engineer asks first about a faulty entry. */
async function describeEntry(feed: Feed, userId: bigint, entry: Entry): Promise<object> {
  const inbox = await feed.inbox.read(userId, { from: null, direction: 'older', limit: 10_000 });
  const { rows } = await feed.pool.query<object>(
    `SELECT row_to_json(f) AS fanout, c.deleted_at, c.visibility, c.created_at, c.repost_of, u.has_pulled_contents,
       (SELECT follow_seq FROM follows WHERE follower_id = $2 AND followee_id = c.author_id) AS follow_seq,
       (SELECT row_to_json(a) FROM activity a WHERE user_id = $2) AS activity,
       (SELECT row_to_json(s) FROM feed_state s) AS state
     FROM contents c JOIN fanouts f ON f.content_id = c.id JOIN users u ON u.id = c.author_id WHERE c.id = $1`,
    [String(entry.contentId), String(userId)],
  );
  const head = inbox.head && Object.entries(inbox.head).map(([key, value]) => `${key}=${text(value)}`);
  const isHeld = inbox.entries.some(({ contentId }) => contentId === entry.contentId);
  return { publishTime: entry.publishTime, isHeld, held: inbox.entries.length, head: head?.join(' '), ...rows[0] };
}

/** A change is stamped this long before it can be seen, at most. */
const COMMIT_MS = 1_000;

/**
 * Two things that changed during a read may have shown an entry between the changes alone, as when an author is followed
 * and the post deleted: neither oracle knows it, and the read was right.
 */
async function withoutPassing(pool: Pool, userId: bigint, extra: readonly Entry[], startedAt: number) {
  if (extra.length === 0) return extra;
  const { rows } = await pool.query<{ id: string }>(
    `WITH RECURSIVE chain AS (
       SELECT id AS root, id, author_id, repost_of FROM contents WHERE id = ANY($1)
       UNION SELECT root, o.id, o.author_id, o.repost_of FROM chain JOIN contents o ON o.id = chain.repost_of)
     SELECT root AS id FROM chain JOIN stress_changes ON thing IN (chain.id::text, concat($2::text, '-', author_id))
     WHERE changed_at >= $3 GROUP BY root HAVING count(DISTINCT thing) > 1`,
    [extra.map(({ contentId }) => String(contentId)), String(userId), startedAt - COMMIT_MS],
  );
  const passing = new Set(rows.map(({ id }) => BigInt(id)));
  return extra.filter(({ contentId }) => !passing.has(contentId));
}

const text = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner));

await runChild(async (app, crowd, { quietMs }) => {
  const feed = createFeed(app);
  return async () => {
    const userId = crowd.draw();
    const pageSize = 1 + Math.floor(Math.random() * PAGE_SIZE_MAX);
    const pagesMax = Math.random() < 0.7 ? 1 : 2 + Math.floor(Math.random() * (PAGES_MAX - 1));
    const { entries, startedAt, tookMs, ...found } = await judgeRead(feed, userId, { pageSize, pagesMax });
    report.reads += 1;
    report.entries += entries.length;
    report.slowestMs = Math.max(report.slowestMs, tookMs);
    if (tookMs > quietMs) {
      report.notJudged += 1;
      return;
    }
    const faults = { ...found, extra: await withoutPassing(feed.pool, userId, found.extra, startedAt) };
    for (const kind of FAULT_KINDS) {
      report.faults[kind] += faults[kind].length;
      for (const entry of faults[kind].slice(0, 1)) {
        if (report.examples.length >= EXAMPLES_MAX) continue;
        const ids = { userId: String(userId), contentId: String(entry.contentId) };
        const read = { kind, ...ids, pageSize, pagesMax, startedAt, tookMs };
        report.examples.push({ ...read, ...(await describeEntry(feed, userId, entry)) });
      }
    }
  };
}, report);
