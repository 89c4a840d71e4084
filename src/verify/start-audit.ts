import { messageOf } from '../domain/errors.js';
import type { FeedDeps } from '../feed/feed.js';
import type { Logger } from '../log.js';
import { pickActiveReader } from './sample-readers.js';
import { isFaulty, verifyReader, type Verdict } from './verify-reader.js';

export interface AuditDeps {
  readonly feed: FeedDeps;
  /** AUDIT_INTERVAL_MS, from the end of one audit to the start of the next; 0 audits nothing. */
  readonly intervalMs: number;
  readonly log: Pick<Logger, 'error' | 'warn'>;
  readonly metrics: {
    readonly audits: { inc(labels: { result: 'clean' | 'faulty' | 'failed' }): void };
    readonly auditFaults: { inc(labels: { kind: keyof Faulty }, count: number): void };
  };
}

type Faulty = Pick<Verdict, 'missing' | 'extra' | 'misordered'>;

const PAGE_SIZE = 20;
const LOGGED_IDS_MAX = 20;

/** A spot check that never ends: the first page of one random recent reader, one audit at a time. */
export function startAudit(deps: AuditDeps): { close(): Promise<void> } {
  let running = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const scheduleNext = (): void => {
    if (isClosed || deps.intervalMs === 0) return;
    timer = setTimeout(() => void (running = auditOnce(deps).then(scheduleNext)), deps.intervalMs);
  };
  scheduleNext();
  return {
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await running;
    },
  };
}

/** Never throws: what cannot be audited now counts as failed. */
export async function auditOnce({ feed, log, metrics }: AuditDeps): Promise<void> {
  try {
    const userId = await pickActiveReader(feed.pool, feed.clock() - ACTIVE_WITHIN_MS);
    if (userId === null) return;
    const verdict = await verifyReader(feed, userId, { pageSize: PAGE_SIZE, pagesMax: 1 });
    metrics.audits.inc({ result: isFaulty(verdict) ? 'faulty' : 'clean' });
    for (const kind of KINDS) if (verdict[kind].length > 0) metrics.auditFaults.inc({ kind }, verdict[kind].length);
    if (isFaulty(verdict))
      log.error({ userId: String(userId), ...idsOf(verdict) }, 'audit: a feed is not what it must be');
  } catch (error) {
    metrics.audits.inc({ result: 'failed' });
    log.warn({ error: messageOf(error) }, 'audit failed');
  }
}

/** Who was here lately is who would miss a post. */
const ACTIVE_WITHIN_MS = 24 * 3_600_000;

const KINDS = ['missing', 'extra', 'misordered'] as const;

const idsOf = (verdict: Faulty): Record<keyof Faulty, string[]> => {
  const ids = (kind: keyof Faulty) => verdict[kind].slice(0, LOGGED_IDS_MAX).map(({ contentId }) => String(contentId));
  return { missing: ids('missing'), extra: ids('extra'), misordered: ids('misordered') };
};
