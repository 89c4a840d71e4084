import type { App } from '../app.js';
import { createBackgroundWork, type BackgroundWork } from '../fanout/background-work.js';
import { rebuildInbox } from '../fanout/rebuild-inbox.js';
import { rebuildOutbox } from '../fanout/rebuild-outbox.js';
import { messageOf } from '../domain/errors.js';
import type { Candidates } from '../feed/candidates.js';
import type { FeedDeps } from '../feed/feed.js';
import { capStandIns, guardRedisReads } from '../feed/guards.js';
import { createLastKnown } from '../feed/last-known.js';
import type { HiddenEntry } from '../feed/scan.js';
import type { FeedPolicy } from '../stores/feed-state.js';
import { createPostgresInboxStore } from '../stores/inbox/postgres.js';
import { createPackedInboxStore } from '../stores/inbox/redis-packed.js';
import { createZsetInboxStore, type ZsetInboxStore } from '../stores/inbox/redis-zset.js';
import type { InboxStore } from '../stores/inbox/inbox-store.js';

const DAY_MS = 86_400_000;

type StoreApp = Pick<App, 'config' | 'database' | 'redis' | 'meters'>;

/** What this deployment records as its policy. */
export const feedPolicyOf = (app: StoreApp): FeedPolicy => ({
  feedMode: app.config.FEED_MODE,
  inboxStore: createInboxStore(app).name,
  activeMs: app.config.ACTIVE_DAYS * DAY_MS,
  dormantMs: app.config.DORMANT_DAYS * DAY_MS,
});

/** The store that INBOX_STORE names. */
export function createInboxStore({ config, database, redis, meters }: StoreApp): InboxStore {
  const { INBOX_MAX_ENTRIES: maxEntries, REDIS_KEY_PREFIX: keyPrefix, INBOX_BUCKETS: buckets } = config;
  const onDamaged = (count: number): void => {
    meters.inboxesDamaged.inc(count);
  };
  const create = {
    'redis-packed': () => createPackedInboxStore({ redis, keyPrefix, buckets, maxEntries, onDamaged }),
    'redis-zset': () => createZsetInboxStore({ redis, keyPrefix, buckets, maxEntries }),
    postgres: () => createPostgresInboxStore({ pool: database.pool, maxEntries }),
  };
  return create[config.INBOX_STORE]();
}

/** Big accounts' outboxes in Redis, whatever INBOX_STORE is. */
export const createOutboxProjections = ({ config, redis }: Pick<App, 'config' | 'redis'>): ZsetInboxStore =>
  createZsetInboxStore({
    redis,
    keyPrefix: config.REDIS_KEY_PREFIX,
    buckets: config.INBOX_BUCKETS,
    maxEntries: config.OUTBOX_MAX_ENTRIES,
    kind: 'outbox',
  });

export type Feed = FeedDeps & { readonly background: Pick<BackgroundWork, 'schedule'> };

/** The read path with what it sets in motion behind the reader's back: rebuilding and cleaning inboxes. */
export function createFeed(
  app: App,
  inbox = createInboxStore(app),
  background: Feed['background'] = startBackground(app),
): Feed {
  const { config, log, meters } = app;
  const { pool } = app.database;
  const outboxes = createOutboxProjections(app);

  const redisReads = guardRedisReads({ inbox, projections: outboxes }, app.redisIdentity, noteRedis);
  // Reads that fail on a Postgres inbox say that the authority is away: nothing stands in for that.
  const guarded = inbox.name === 'postgres' ? { ...redisReads, inbox } : redisReads;

  async function project(authorId: bigint): Promise<void> {
    const result = await rebuildOutbox({ pool, outboxes, maxEntries: config.OUTBOX_MAX_ENTRIES }, authorId);
    meters.rebuilds.inc({ result });
  }

  async function rebuild(userId: bigint): Promise<void> {
    const result = await rebuildInbox({ pool, inbox, maxEntries: config.INBOX_MAX_ENTRIES }, userId);
    meters.rebuilds.inc({ result });
  }

  /** Lazily cleans what the reader can never see again, or not before following anew. */
  async function clean(userId: bigint, followSeq: bigint, hidden: readonly HiddenEntry[]): Promise<void> {
    const of = (reason: string) => hidden.filter((it) => it.reason === reason).map((it) => it.entry);
    if (of('deleted').length > 0) await inbox.remove(userId, of('deleted'), null);
    if (of('unfollowed').length > 0) await inbox.remove(userId, of('unfollowed'), followSeq);
  }

  function noteRedis(state: 'open' | 'closed'): void {
    if (state === 'open') log.error('redis does not answer: timelines are pulled from postgres');
    else log.info('redis answers again');
  }

  function onBatch(userId: bigint, batch: Candidates, hidden: readonly HiddenEntry[]): void {
    if (batch.pulledOutboxes > 0) meters.floorPulls.inc();
    for (const { reason } of hidden) meters.entriesFiltered.inc({ reason });
    if (batch.isStale) background.schedule(`rebuild:${userId.toString()}`, () => rebuild(userId));
    const { head, reader } = batch;
    const isCleanable = hidden.some(({ reason }) => reason === 'deleted' || reason === 'unfollowed');
    if (isCleanable && head?.followSeq === reader.followSeq) {
      background.schedule(`clean:${userId.toString()}`, () => clean(userId, head.followSeq, hidden));
    }
  }

  return {
    pool,
    inbox: guarded.inbox,
    standIn: capStandIns(config.STAND_IN_CONCURRENCY, config.STAND_IN_WAITING),
    projections: guarded.projections,
    onProjectionStale(authorId) {
      background.schedule(`project:${authorId.toString()}`, () => project(authorId));
    },
    background,
    includeOwn: config.FEED_INCLUDE_OWN === 'true',
    onInboxError: (error) => {
      log.warn({ error: messageOf(error) }, 'inbox unreadable, pulling instead');
    },
    onAuthorityAway: (error) => {
      log.error({ error: messageOf(error) }, 'postgres away: timelines hold what is still known');
    },
    clock: app.clock,
    lastKnown: createLastKnown({ ttlMs: config.CONTENT_CACHE_TTL_MS, clock: app.clock }),
    scanBudget: config.SCAN_BUDGET,
    onDuplicate: () => {
      meters.duplicatesRemoved.inc();
    },
    onPage(page, seconds, isShort) {
      meters.pageSeconds.observe({ page }, seconds);
      if (isShort) meters.pagesShort.inc();
    },
    onBatch,
    cursorKeys: config.cursorKeys,
    maxDepth: config.TIMELINE_MAX_DEPTH,
  };
}

/** Readers do not wait for it; a process that stops does. */
function startBackground(app: App): BackgroundWork {
  const background = createBackgroundWork({
    concurrency: app.config.REBUILD_CONCURRENCY,
    maxWaiting: 1_000,
    log: app.log,
  });
  app.onClose(() => background.close());
  return background;
}
