import { Worker, type Job } from 'bullmq';
import { openApp, type App } from '../../src/app.js';
import { readConfig } from '../../src/config.js';
import type { Entry } from '../../src/domain/entry.js';
import { rebuildInbox } from '../../src/fanout/rebuild-inbox.js';
import { relayEvents } from '../../src/fanout/relay-events.js';
import { handleContentEvent } from '../../src/fanout/handle-content-event.js';
import { handlePushTask, recordFailure } from '../../src/fanout/handle-push-task.js';
import type { WorkerDeps } from '../../src/fanout/start-workers.js';
import { sweepFanouts } from '../../src/fanout/sweep-fanouts.js';
import { readFeed, type FeedPage } from '../../src/feed/feed.js';
import { CONTENT_EVENT_QUEUE, PUSH_QUEUE } from '../../src/jobs/catalog.js';
import { queuePrefix } from '../../src/jobs/queues.js';
import { createSocial, type Social } from '../../src/social/create-social.js';
import { createIdGenerator } from '../../src/social/id-generator.js';
import { removeStep } from '../../src/social/remove-accounts.js';
import { listRemovals } from '../../src/stores/accounts.js';
import { insertContent } from '../../src/stores/contents.js';
import { inTransaction } from '../../src/stores/database.js';
import { appendEvent } from '../../src/stores/events.js';
import { registerFeedPolicy } from '../../src/stores/feed-state.js';
import type { InboxStore } from '../../src/stores/inbox/inbox-store.js';
import {
  createFeed,
  createInboxStore,
  createOutboxProjections,
  feedPolicyOf,
  type Feed,
} from '../../src/wiring/feed.js';
import { listWorks } from '../../src/wiring/maintenance.js';
import { createWorkerDeps } from '../../src/wiring/workers.js';
import { createTestDatabase, startTestRedis, type TestRedis } from './services.js';

/** Starts later than any fixture's publish time. */
const START_MS = 1_750_000_000_000;

/** Settings of a small world: few users make big accounts, few entries fill an inbox. */
const SMALL = {
  NODE_ENV: 'test',
  LOG_LEVEL: 'silent',
  FANOUT_PUSH_THRESHOLD: '2',
  FANOUT_CHUNK_SIZE: '2',
  FANOUT_BATCH_SIZE: '1',
  INBOX_MAX_ENTRIES: '8',
  OUTBOX_MAX_ENTRIES: '4',
  SCAN_BUDGET: '1000',
  FANOUT_TASKS_PER_CONTENT: '2',
  INBOX_MAX_AGE_DAYS: '20',
  EVENTS_KEEP_HOURS: '0',
  TASKS_KEEP_HOURS: '0',
};

/** What runs in one world: real stores, a clock of its own, and queues that move one job at a time. */
export interface World {
  readonly app: App;
  social: Social;
  readonly now: { ms: number };
  /** The server, to be killed and restarted. */
  readonly redis: TestRedis;
  /** Runs the next task as a worker of another deployment would, or of this one with other stores. */
  executeOneAs(policy: Readonly<Record<string, string>>, stores?: Partial<WorkerDeps>): Promise<boolean>;
  sweep(): ReturnType<typeof sweepFanouts>;
  /** One whole round of all works of maintenance. */
  maintain(): Promise<void>;
  feed: Feed;
  /** Background work that readers set in motion, waiting to be run. */
  readonly background: Map<string, () => Promise<unknown>>;
  setPolicy(policy: Readonly<Record<string, string>>): Promise<void>;
  /** Publishes through the same transaction as the product, at a time and id of one's own. */
  publishAt(authorId: bigint, entry: Entry, visibility?: string, repostOf?: bigint | null): Promise<void>;
  relay(): Promise<number>;
  /** Runs the next job of a queue. `dieAfter` inbox writes it is killed, as far as the stores can tell. */
  dispatchOne(): Promise<boolean>;
  dispatchOneAs(parts: Partial<WorkerDeps>): Promise<boolean>;
  executeOne(dieAfter?: number): Promise<boolean>;
  /** Relays, dispatches, executes and runs background work until nothing is left. */
  drain(): Promise<void>;
  /** `beforeFill` is waited for between the pull and the write-back. */
  rebuild(userId: bigint, beforeFill?: Promise<void>): Promise<unknown>;
  /** `gate` is waited for right before, or right after, the inbox is read. */
  read(
    userId: bigint,
    args: Parameters<typeof readFeed>[2],
    gate?: { readonly before?: Promise<void>; readonly after?: Promise<void> },
  ): Promise<FeedPage>;
  /** One row or two of what some deleted account left. */
  removeSome(): Promise<void>;
  loseInbox(userId: bigint): Promise<void>;
  loseProjection(authorId: bigint): Promise<void>;
  reset(userIds: readonly bigint[]): Promise<void>;
  close(): Promise<void>;
}

interface Urls {
  readonly DATABASE_URL: string;
  readonly REDIS_URL: string;
}

/** @param reroute what the world is to use in place of these URLs, such as a way that can be cut */
export async function createWorld(
  settings: Record<string, string> = {},
  reroute: (urls: Urls) => Promise<Urls> = (urls) => Promise.resolve(urls),
): Promise<World> {
  const [database, redis] = await Promise.all([createTestDatabase(), startTestRedis()]);
  const urls = await reroute({ DATABASE_URL: database.databaseUrl, REDIS_URL: redis.redisUrl });
  const now = { ms: START_MS };
  const clock = () => now.ms;
  const base = { ...SMALL, ...settings, ...urls };
  const app = await openApp(readConfig(base), { name: 'test', clock });
  const { pool, prisma } = app.database;
  let ids = createIdGenerator({ pool, clock, log: app.log });
  const onContentChanged = () => undefined;
  const openSocial = () =>
    createSocial({
      pool,
      prisma,
      ids,
      clock,
      cursorKeys: app.config.cursorKeys,
      onContentChanged,
      onUserChanged: onContentChanged,
    });
  const background = new Map<string, () => Promise<unknown>>();
  const schedule = (key: string, work: () => Promise<unknown>) => void background.set(key, work);

  let current = buildPolicy({});
  const steppers = [CONTENT_EVENT_QUEUE, PUSH_QUEUE].map(
    (name) =>
      new Worker(name, null, {
        connection: app.queueRedis,
        prefix: queuePrefix(app.config.REDIS_KEY_PREFIX),
        settings: { backoffStrategy: () => 1 },
      }),
  ) as [Worker, Worker];
  for (const stepper of steppers) stepper.on('error', () => undefined);

  function buildPolicy(policy: Readonly<Record<string, string>>) {
    const variant = { ...app, config: { ...app.config, ...readConfig({ ...base, ...policy }) } as App['config'] };
    const inbox = createInboxStore(variant);
    const { queues, deps } = createWorkerDeps(variant);
    return { inbox, queues, deps, feed: createFeed(variant, inbox, { schedule }), config: variant.config };
  }

  async function runNext(worker: Worker, handle: (job: Job, token: string) => Promise<unknown>): Promise<boolean> {
    const token = `step-${Math.random()}`;
    const job = (await worker.getNextJob(token, { block: false })) as Job | undefined;
    if (!job) return promoteDelayed();
    try {
      await job.moveToCompleted((await handle(job, token)) ?? null, token, false);
    } catch (error) {
      const isDelayed = error instanceof Error && error.name === 'DelayedError';
      if (!isDelayed) await job.moveToFailed(error as Error, token, false);
      if (job.finishedOn && worker === steppers[1]) await recordFailure(current.deps, job, error as Error);
    }
    return true;
  }

  async function promoteDelayed(): Promise<boolean> {
    const { contentEvents, pushTasks } = current.queues;
    const delayed = [...(await contentEvents.getDelayed()), ...(await pushTasks.getDelayed())];
    for (const job of delayed) await job.promote();
    return delayed.length > 0;
  }

  const world: World = {
    app,
    social: openSocial(),
    now,
    redis,
    executeOneAs(policy, stores = {}) {
      const other = buildPolicy(policy);
      return runNext(steppers[1], (job, token) => handlePushTask({ ...other.deps, ...stores }, job, token)).finally(
        () => other.queues.close(),
      );
    },
    sweep: () => sweepFanouts({ pool, queues: current.queues, stuckAfterMs: app.config.STUCK_AFTER_MS }),
    async maintain() {
      for (const work of listWorks({ ...app, config: current.config })) {
        for (let position: string | null = ''; position !== null;) position = await work.step(position);
      }
    },
    background,
    feed: current.feed,
    async setPolicy(policy) {
      await current.queues.close();
      current = buildPolicy(policy);
      world.feed = current.feed;
      await registerFeedPolicy(pool, feedPolicyOf({ ...app, config: current.config }));
    },
    async publishAt(authorId, entry, visibility = 'PUBLIC', repostOf = null) {
      await inTransaction(pool, async (client) => {
        await insertContent(client, {
          ...entry,
          authorId,
          visibility: visibility as 'PUBLIC',
          repostOf,
          text: 'text',
          media: [],
          idempotencyKey: null,
        });
        await appendEvent(client, { type: 'content.published', authorId, contentId: entry.contentId });
      });
    },
    relay: () => relayEvents({ pool, queues: current.queues }),
    dispatchOne: () => world.dispatchOneAs({}),
    dispatchOneAs: (parts) =>
      runNext(steppers[0], (job, token) => handleContentEvent({ ...current.deps, ...parts }, job, token)),
    executeOne: (dieAfter) =>
      runNext(steppers[1], (job, token) =>
        handlePushTask({ ...current.deps, inbox: dying(current.inbox, dieAfter) }, job, token),
      ),
    async drain() {
      for (let isBusy = true; isBusy;) {
        isBusy = (await world.relay()) > 0;
        // In turns: a plan at its bound waits for its tasks.
        for (let moved = true; moved; isBusy ||= moved) {
          moved = await world.dispatchOne();
          moved = (await world.executeOne()) || moved;
        }
        for (const [key, work] of background) {
          background.delete(key);
          await work();
          isBusy = true;
        }
      }
    },
    rebuild: (userId, beforeFill) => {
      const { inbox, config } = current;
      const fill: InboxStore['fill'] = async (...args) => {
        await beforeFill;
        return inbox.fill(...args);
      };
      return rebuildInbox({ pool, inbox: { ...inbox, fill }, maxEntries: config.INBOX_MAX_ENTRIES }, userId);
    },
    read: (userId, args, gate) => {
      const { inbox } = current;
      const read: InboxStore['read'] = async (...args) => {
        await gate?.before;
        const page = await inbox.read(...args);
        await gate?.after;
        return page;
      };
      return readFeed({ ...world.feed, inbox: { ...inbox, read } }, userId, args);
    },
    async removeSome() {
      const [userId] = await listRemovals(pool, 1);
      const { inbox } = current;
      if (userId !== undefined) {
        await removeStep({ pool, inbox, outboxes: createOutboxProjections(app), batchSize: 2 }, userId);
      }
    },
    loseInbox: (userId) => current.inbox.drop([userId]),
    loseProjection: (authorId) => createOutboxProjections(app).drop([authorId]),
    async reset(userIds) {
      background.clear();
      // A generator never goes back in time: with the old one, whatever is published next would be dated in the future.
      await ids.close();
      ids = createIdGenerator({ pool, clock, log: app.log });
      world.social = openSocial();
      now.ms = START_MS;
      await pool.query(
        `TRUNCATE users, activity, follows, blocks, contents, content_counters, reactions, comments, events, fanouts,
           fanout_tasks, counter_changes, inbox_heads, inbox, id_leases CASCADE`,
      );
      await app.redis.flushall();
      await pool.query(
        `INSERT INTO users (id, handle, display_name) SELECT u, 'user_' || u, 'User ' || u FROM unnest($1::numeric[]) AS u`,
        [userIds.map(String)],
      );
      await world.setPolicy({});
    },
    async close() {
      await Promise.all(steppers.map((worker) => worker.close()));
      await current.queues.close();
      await ids.close();
      await app.close();
      await redis.stop();
      await database.drop();
    },
  };
  await world.setPolicy({});
  return world;
}

/** An inbox store whose process is killed after some writes. */
function dying(inbox: InboxStore, dieAfter: number | undefined): WorkerDeps['inbox'] {
  let writes = 0;
  return {
    name: inbox.name,
    insert: async (userIds, entry) => {
      if (dieAfter !== undefined && writes >= dieAfter) throw new Error('killed');
      writes += 1;
      return inbox.insert(userIds, entry);
    },
  };
}
