import { setTimeout as pause } from 'node:timers/promises';
import type { App } from '../../src/app.js';
import type { Pool } from '../../src/stores/database.js';
import { readDeliveryState } from '../../src/stores/status.js';
import { sampleReaders } from '../../src/verify/sample-readers.js';
import { createFeed, createInboxStore } from '../../src/wiring/feed.js';
import { FAULT_KINDS, judgeRead, type FaultKind } from './judge-read.js';

/** Everything that is not delivered yet. */
export interface Unfinished {
  readonly events: number;
  readonly fanouts: number;
  /** Of the fan-outs; nobody but an operator goes on with these. */
  readonly failed: number;
}

/** Waits until everything is delivered; gives up when it takes too long, or on a failed task. */
export async function drain(
  pool: Pool,
  { timeoutMs, say }: { timeoutMs: number; say: (text: string) => void },
): Promise<{ tookMs: number; left: Unfinished }> {
  const startedAt = Date.now();
  for (let shownAt = startedAt; ;) {
    const left = await readUnfinished(pool);
    const tookMs = Date.now() - startedAt;
    const isOver = left.events + left.fanouts === left.failed;
    if (isOver || tookMs > timeoutMs) return { tookMs, left };
    if (Date.now() - shownAt > 10_000) {
      shownAt = Date.now();
      say(`draining: ${JSON.stringify(left)}`);
    }
    await pause(100);
  }
}

async function readUnfinished(pool: Pool): Promise<Unfinished> {
  const { fanouts } = await readDeliveryState(pool);
  const { rows } = await pool.query<{ n: string }>('SELECT count(*) AS n FROM events WHERE relayed_at IS NULL');
  const { PENDING, RUNNING, FAILED } = fanouts;
  return { events: Number(rows[0]?.n), fanouts: PENDING + RUNNING + FAILED, failed: FAILED };
}

export interface Verified extends Readonly<Record<FaultKind, number>> {
  readonly users: number;
  readonly entries: number;
  readonly faulty: number;
}

/** Compares the feeds of at most `limit` readers with the oracle, down to the depth limit. */
export async function verifyFeeds(app: App, limit: number, say: (text: string) => void): Promise<Verified> {
  const feed = { ...createFeed(app, createInboxStore(app), { schedule: () => undefined }), isObserver: true };
  const userIds = await sampleReaders(app.database.pool, limit);
  const verified = { users: userIds.length, entries: 0, faulty: 0, missing: 0, extra: 0, misordered: 0, duplicated: 0 };
  const waiting = userIds.values();
  const work = async (): Promise<void> => {
    for (const userId of waiting) {
      const read = await judgeRead(feed, userId, { pageSize: 100 });
      verified.entries += read.entries.length;
      for (const kind of FAULT_KINDS) verified[kind] += read[kind].length;
      const faults = FAULT_KINDS.filter((kind) => read[kind].length > 0);
      if (faults.length === 0) continue;
      verified.faulty += 1;
      say(`user ${userId}: ${faults.map((kind) => `${read[kind].length} ${kind}`).join(', ')}`);
    }
  };
  await Promise.all(Array.from({ length: VERIFIED_AT_ONCE }, work));
  return verified;
}

/** Well under the least pool of connections. */
const VERIFIED_AT_ONCE = 4;
