import { setTimeout as pause } from 'node:timers/promises';
import { decodeCursor } from '../../src/domain/cursor.js';
import { readFeed, type FeedDeps } from '../../src/feed/feed.js';
import type { Pool } from '../../src/stores/database.js';
import { createFeed } from '../../src/wiring/feed.js';
import { runChild } from '../load/crowd.js';
import { as, openSocial } from '../load/open-social.js';
import { isOutage } from '../load/outages.js';

// A process that publishes and at once asks one follower's feed for the post, until it is there.

const report = {
  outages: 0,
  probes: 0,
  maxMs: 0,
  sumMs: 0,
  /** A feed that said that it was complete lacked the post. */
  missing: 0,
};
export type ProberReport = typeof report;

const PROBE_PAUSE_MS = 100;
const LOOK_PAUSE_MS = 10;
const PAGE_SIZE = 100;

await runChild(async (app, crowd) => {
  const { pool } = app.database;
  const [social, feed] = [openSocial(app), createFeed(app)];
  return async () => {
    await pause(PROBE_PAUSE_MS);
    const authorId = crowd.draw();
    const follower = await pickFollower(pool, authorId);
    if (follower === null) return;
    const { contentId } = await social.publishContent(as(authorId), { text: 'probe' });
    const publishedAt = performance.now();
    for (;;) {
      const found = await look(feed, follower, contentId);
      if (found === 'shown') break;
      if (found === 'away') report.outages += 1;
      else {
        if (await isFollowing(pool, follower, authorId)) report.missing += 1;
        return;
      }
      await pause(LOOK_PAUSE_MS);
    }
    const tookMs = performance.now() - publishedAt;
    report.probes += 1;
    report.sumMs += tookMs;
    report.maxMs = Math.max(report.maxMs, tookMs);
  };
}, report);

async function pickFollower(pool: Pool, authorId: bigint): Promise<bigint | null> {
  const { rows } = await pool.query<{ id: string }>(
    'SELECT follower_id AS id FROM follows WHERE followee_id = $1 ORDER BY random() LIMIT 1',
    [authorId],
  );
  return rows[0] ? BigInt(rows[0].id) : null;
}

/** `absent`: the page said that it was complete, and the post was neither on it nor deep below others. */
async function look(feed: FeedDeps, userId: bigint, contentId: bigint): Promise<'shown' | 'absent' | 'away'> {
  try {
    const page = await readFeed(feed, userId, { first: PAGE_SIZE });
    const ids = page.edges.map(({ cursor }) => decodeCursor(cursor, userId, feed.cursorKeys).contentId);
    if (ids.includes(contentId)) return 'shown';
    const isDeeper = ids.length === PAGE_SIZE && (ids.at(-1) as bigint) > contentId;
    return page.isComplete && !isDeeper ? 'absent' : 'away';
  } catch (error) {
    if (!isOutage(error)) throw error;
    return 'away';
  }
}

async function isFollowing(pool: Pool, follower: bigint, authorId: bigint): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM follows WHERE follower_id = $1 AND followee_id = $2', [
    follower,
    authorId,
  ]);
  return rowCount === 1;
}
