import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { decodeCursor } from '../../src/domain/cursor.js';
import { compareEntries, type Entry } from '../../src/domain/entry.js';
import { TidelineError } from '../../src/domain/errors.js';
import type { FeedPage } from '../../src/feed/feed.js';
import { oracleFeed } from '../harness/oracle.js';
import { createWorld, type World } from '../harness/world.js';

// Random interleavings of everything that moves a feed, one step at a time, on real Postgres and Redis. After every read
// the page equals the oracle's, edge for edge. FEED_MODEL_RUNS and FEED_MODEL_SEED run it longer or elsewhere;
// FEED_MODEL_SHRINK=off ends at the first fault.

const USERS = [1n, 2n, 3n, 4n, 5n, 6n];
const HOUR = 3_600_000;
const RUNS = Number(process.env['FEED_MODEL_RUNS'] ?? 40);
const SHRINKS = process.env['FEED_MODEL_SHRINK'] !== 'off';
const SEED = Number(process.env['FEED_MODEL_SEED'] ?? 20_261_130);

const user = fc.constantFrom(...USERS);
const nth = fc.nat({ max: 40 });
const size = fc.integer({ min: 1, max: 5 });
const weighted = <T extends string>(op: T, weight: number, fields: Record<string, fc.Arbitrary<unknown>>) => ({
  arbitrary: fc.record({ op: fc.constant(op), ...fields }),
  weight,
});

const stepArbitrary = fc.oneof(
  weighted('publish', 6, { author: user, visibility: fc.constantFrom('PUBLIC', 'PUBLIC', 'FOLLOWERS', 'PRIVATE') }),
  // Old, future and equal times, ids beyond 2^53 and 2^63.
  weighted('publishAt', 3, {
    author: user,
    offset: fc.constantFrom(-50 * 24 * HOUR, -2000, -1000, -1000, 0, 2 * HOUR),
    high: fc.boolean(),
  }),
  weighted('repost', 2, { author: user, nth }),
  weighted('delete', 2, { nth }),
  weighted('visibility', 2, { nth, visibility: fc.constantFrom('PUBLIC', 'FOLLOWERS', 'PRIVATE') }),
  weighted('follow', 10, { follower: user, followee: user }),
  weighted('unfollow', 2, { follower: user, followee: user }),
  weighted('block', 1, { follower: user, followee: user }),
  weighted('unblock', 1, { follower: user, followee: user }),
  weighted('deleteAccount', 1, { author: fc.constantFrom(2n, 3n, 6n) }),
  weighted('removeSome', 4, {}),
  weighted('relay', 4, {}),
  weighted('dispatch', 6, {}),
  weighted('execute', 8, { dieAfter: fc.option(fc.nat({ max: 1 }), { nil: undefined, freq: 4 }) }),
  // A whole stretch at once, so that inboxes fill up and are trimmed, and that readers miss what they did not wait for.
  weighted('burst', 4, { author: user, posts: fc.integer({ min: 1, max: 12 }) }),
  weighted('absence', 3, {
    reader: user,
    author: fc.constantFrom(1n, 1n, 3n),
    ms: fc.constantFrom(8 * 24 * HOUR, 8 * 24 * HOUR, 31 * 24 * HOUR),
  }),
  // One read and one rebuild may stand still in the middle while everything else goes on.
  weighted('startRead', 3, { reader: user, size, at: fc.constantFrom('before', 'after') }),
  weighted('finishRead', 4, {}),
  weighted('startRebuild', 2, { reader: user }),
  weighted('finishRebuild', 3, {}),
  weighted('background', 4, {}),
  weighted('drain', 1, {}),
  weighted('pass', 2, { ms: fc.constantFrom(1, 1000, HOUR, 3 * HOUR, 8 * 24 * HOUR, 31 * 24 * HOUR) }),
  weighted('loseInbox', 1, { reader: user }),
  weighted('loseProjection', 1, { author: fc.constantFrom(1n, 3n, 4n) }),
  weighted('flushRedis', 1, {}),
  weighted('maintain', 2, {}),
  weighted('policy', 1, {
    mode: fc.constantFrom('hybrid', 'hybrid', 'push', 'pull'),
    store: fc.constantFrom('redis-packed', 'redis-zset', 'postgres'),
  }),
  weighted('readFirst', 5, { reader: user, size }),
  weighted('walkDown', 3, { reader: user, size }),
  weighted('walkUp', 2, { reader: user, size }),
  weighted('readOldCursor', 2, { nth, size }),
);
const REFUSALS = ['BAD_USER_INPUT', 'FORBIDDEN', 'NOT_FOUND', 'UNAUTHENTICATED'];
type Step = { op: string } & Record<string, never>;

class Run {
  readonly contents: { entry: Entry; author: bigint }[] = [];
  readonly cursors: { reader: bigint; cursor: string }[] = [];
  #serial = 0;

  #reading: { finish: () => Promise<void> } | null = null;
  #rebuilding: { finish: () => Promise<void> } | null = null;

  constructor(readonly world: World) {}

  async step(step: Step): Promise<void> {
    this.world.now.ms += 1;
    const handler = (this as unknown as Record<string, (step: Step) => Promise<unknown>>)[step.op];
    try {
      await handler?.call(this, step);
    } catch (error) {
      // Refused commands (following oneself, across a block, of a deleted account, reposting what one may not see) change
      // nothing.
      if (!(error instanceof TidelineError) || !REFUSALS.includes(error.code)) throw error;
    }
  }

  async publish({ author, visibility }: { author: bigint; visibility: 'PUBLIC' }): Promise<void> {
    const { contentId, publishTime } = await this.world.social.publishContent(viewerOf(author), {
      text: 'text',
      visibility,
    });
    this.contents.push({ entry: { contentId, publishTime }, author });
  }

  async publishAt({ author, offset, high }: { author: bigint; offset: number; high: boolean }): Promise<void> {
    this.#serial += 1;
    const contentId = (high ? 2n ** 64n - 1000n : 1000n) + BigInt((this.#serial * 7) % 900);
    const publishTime = Math.floor(this.world.now.ms / 1000) * 1000 + offset;
    await this.world.publishAt(author, { publishTime, contentId });
    this.contents.push({ entry: { contentId, publishTime }, author });
  }

  async repost({ author, nth }: { author: bigint; nth: number }): Promise<void> {
    const target = this.pick(nth);
    if (!target) return;
    const repostOf = target.entry.contentId;
    const { contentId, publishTime } = await this.world.social.publishContent(viewerOf(author), { text: '', repostOf });
    this.contents.push({ entry: { contentId, publishTime }, author });
  }

  async delete({ nth }: { nth: number }): Promise<void> {
    const target = this.pick(nth);
    if (target) await this.world.social.deleteContent(viewerOf(target.author), target.entry.contentId);
  }

  async visibility({ nth, visibility }: { nth: number; visibility: 'PUBLIC' }): Promise<void> {
    const target = this.pick(nth);
    if (target) await this.world.social.setVisibility(viewerOf(target.author), target.entry.contentId, visibility);
  }

  follow = ({ follower, followee }: Pair) => this.world.social.setFollow(viewerOf(follower), followee, true);
  unfollow = ({ follower, followee }: Pair) => this.world.social.setFollow(viewerOf(follower), followee, false);
  block = ({ follower, followee }: Pair) => this.world.social.setBlock(viewerOf(follower), followee, true);
  unblock = ({ follower, followee }: Pair) => this.world.social.setBlock(viewerOf(follower), followee, false);
  deleteAccount = ({ author }: { author: bigint }) => this.world.social.deleteAccount(viewerOf(author), author);
  removeSome = () => this.world.removeSome();
  relay = () => this.world.relay();
  dispatch = () => this.world.dispatchOne();
  execute = ({ dieAfter }: { dieAfter: number | undefined }) => this.world.executeOne(dieAfter);
  drain = () => this.world.drain();
  loseProjection = ({ author }: { author: bigint }) => this.world.loseProjection(author);
  loseInbox = ({ reader }: { reader: bigint }) => this.world.loseInbox(reader);

  async background(): Promise<void> {
    const [next] = this.world.background;
    if (!next) return;
    this.world.background.delete(next[0]);
    await next[1]();
  }

  async pass({ ms }: { ms: number }): Promise<void> {
    this.world.now.ms += ms;
  }

  async burst({ author, posts }: { author: bigint; posts: number }): Promise<void> {
    for (let i = 0; i < posts; i += 1) {
      this.world.now.ms += 1;
      await this.publish({ author, visibility: 'PUBLIC' });
    }
    await this.world.drain();
  }

  /** A reader stays away while somebody publishes, and comes back. */
  async absence({ reader, author, ms }: { reader: bigint; author: bigint; ms: number }): Promise<void> {
    await this.readFirst({ reader, size: 2 });
    await this.world.drain();
    this.world.now.ms += ms;
    await this.burst({ author, posts: 2 });
    this.world.now.ms += 1;
    await this.readFirst({ reader, size: 5 });
  }

  async startRead({ reader, size, at }: { reader: bigint; size: number; at: 'before' | 'after' }): Promise<void> {
    if (this.#reading) return;
    const before = await this.oracle(reader);
    const gate = openGate();
    const page = this.world.read(reader, { first: size }, { [at]: gate.passed });
    page.catch(() => undefined);
    await gate.reached();
    this.#reading = {
      finish: async () => {
        this.#reading = null;
        gate.open();
        expectBetween(await page, size, before, await this.oracle(reader));
      },
    };
  }

  async startRebuild({ reader }: { reader: bigint }): Promise<void> {
    if (this.#rebuilding) return;
    const gate = openGate();
    const rebuilt = this.world.rebuild(reader, gate.passed);
    rebuilt.catch(() => undefined);
    await gate.reached();
    this.#rebuilding = {
      finish: async () => {
        this.#rebuilding = null;
        gate.open();
        await rebuilt;
      },
    };
  }

  maintain = () => this.world.maintain();
  finishRead = async () => this.#reading?.finish();
  finishRebuild = async () => this.#rebuilding?.finish();

  /** The events' marks say that they were relayed, so their jobs come back only as a reconciler would bring them. */
  async flushRedis(): Promise<void> {
    await this.world.app.redis.flushall();
  }

  async policy({ mode, store }: { mode: string; store: string }): Promise<void> {
    await this.world.setPolicy({ FEED_MODE: mode, INBOX_STORE: store });
  }

  async readFirst({ reader, size }: { reader: bigint; size: number }): Promise<void> {
    const expected = await this.oracle(reader);
    const page = await this.world.read(reader, { first: size });
    this.expectPage(reader, page, expected.slice(0, size));
    expect(await page.hasNextPage()).toBe(expected.length > size);
    expect(await page.hasPreviousPage()).toBe(false);
    if (expected.length === 0) expect(['NO_POSTS', 'NO_FOLLOWING']).toContain(page.emptyReason);
  }

  async walkDown({ reader, size }: { reader: bigint; size: number }): Promise<void> {
    const expected = await this.oracle(reader);
    const walked: string[] = [];
    for (let after: string | null = null; ;) {
      const page = await this.world.read(reader, { first: size, after });
      walked.push(...page.edges.map((edge) => String(edge.contentId)));
      expect(await page.hasPreviousPage()).toBe(after !== null && expected.length > 0);
      if (!(await page.hasNextPage())) break;
      after = page.endCursor;
    }
    expect(walked).toEqual(expected.map((entry) => String(entry.contentId)));
  }

  async walkUp({ reader, size }: { reader: bigint; size: number }): Promise<void> {
    const expected = await this.oracle(reader);
    const whole = await this.world.read(reader, { first: 100 });
    const walked: string[] = [];
    for (let before = whole.endCursor; before !== null;) {
      const page = await this.world.read(reader, { last: size, before });
      walked.unshift(...page.edges.map((edge) => String(edge.contentId)));
      expect(await page.hasNextPage()).toBe(true);
      before = (await page.hasPreviousPage()) ? page.startCursor : null;
    }
    expect(walked).toEqual(expected.slice(0, -1).map((entry) => String(entry.contentId)));
  }

  async readOldCursor({ nth, size }: { nth: number; size: number }): Promise<void> {
    const kept = this.cursors[nth % Math.max(1, this.cursors.length)];
    if (!kept) return;
    const { reader, cursor } = kept;
    const position = decodeCursor(cursor, reader, this.world.app.config.cursorKeys);
    const expected = await this.oracle(reader);
    const below = expected.filter((entry) => compareEntries(entry, position) > 0);
    const above = expected.filter((entry) => compareEntries(entry, position) < 0);
    const down = await this.world.read(reader, { first: size, after: cursor });
    this.expectPage(reader, down, below.slice(0, size));
    expect(await down.hasNextPage()).toBe(below.length > size);
    const up = await this.world.read(reader, { last: size, before: cursor });
    this.expectPage(reader, up, above.slice(-size));
    expect(await up.hasPreviousPage()).toBe(above.length > size);
  }

  private expectPage(reader: bigint, page: FeedPage, expected: Entry[]): void {
    expect(page.edges.map((edge) => String(edge.contentId))).toEqual(expected.map((entry) => String(entry.contentId)));
    for (const { cursor } of page.edges) this.cursors.push({ reader, cursor });
  }

  private oracle = (reader: bigint) => oracleFeed(this.world.app.database.pool, reader, this.world.now.ms);
  private pick = (n: number) => this.contents[n % Math.max(1, this.contents.length)];
}

/** Each read lies between the oracle at its start and the oracle at its end. */
function expectBetween(page: FeedPage, size: number, before: Entry[], after: Entry[]): void {
  const shown = page.edges.map((edge) => edge.contentId);
  const known = new Map([...before, ...after].map((entry) => [entry.contentId, entry]));
  expect(shown.filter((id) => !known.has(id))).toEqual([]);
  const entries = shown.map((id) => known.get(id) as Entry);
  expect(entries).toEqual([...entries].sort(compareEntries));
  const standing = before.filter((entry) => after.some((other) => other.contentId === entry.contentId));
  const last = entries.at(-1);
  const owed = standing.filter((entry) => entries.length < size || !last || compareEntries(entry, last) <= 0);
  expect(owed.map((entry) => entry.contentId).filter((id) => !shown.includes(id))).toEqual([]);
}

/** Something that is waited for in the middle of a call, until it is opened. */
function openGate() {
  let open = (): void => undefined;
  let reach = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const passed = {
    then: (...callbacks: Parameters<Promise<void>['then']>) => {
      reach();
      return opened.then(...callbacks);
    },
  } as Promise<void>;
  // A call that needs neither inbox nor fill never comes by.
  return {
    open,
    passed,
    reached: () => Promise.race([reached, new Promise<void>((resolve) => setTimeout(resolve, 100))]),
  };
}

interface Pair {
  follower: bigint;
  followee: bigint;
}
const viewerOf = (userId: bigint) => ({ userId, isAdmin: false });

describe('a feed equals the sorted set of all that its viewer may see', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld();
  });
  afterAll(() => world.close());

  async function play(steps: readonly Step[]): Promise<void> {
    await world.reset(USERS);
    const run = new Run(world);
    // A graph to begin with: everyone follows 1, and 3 and 4: three big accounts, which unfollowing makes small.
    for (const follower of USERS.slice(1)) await run.follow({ follower, followee: 1n });
    for (const follower of USERS) {
      for (const followee of [3n, 4n]) if (follower !== followee) await run.follow({ follower, followee });
    }
    for (const reader of USERS) await run.readFirst({ reader, size: 2 });
    await run.drain();
    for (const step of steps) await run.step(step);
    const last = ['finishRead', 'finishRebuild'].map((op) => ({ op }));
    const walks = USERS.map((reader) => ({ op: 'walkDown', reader, size: 3 }));
    for (const step of [...last, ...walks]) await run.step(step as unknown as Step);
  }

  test(
    `over ${RUNS} random interleavings of 60 steps`,
    async () => {
      // Unbiased: small values would mean short runs by the same few users.
      const steps = fc.noBias(fc.array(stepArbitrary as fc.Arbitrary<Step>, { minLength: 60, maxLength: 60 }));
      await fc.assert(fc.asyncProperty(steps, play), { numRuns: RUNS, seed: SEED, endOnFailure: !SHRINKS });
    },
    24 * HOUR,
  );
});
