import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { TidelineError } from '../../src/domain/errors.js';
import { createHydration, type Asker } from '../../src/feed/hydrate.js';
import { createRemoteSources, type RemoteSources } from '../../src/feed/remote-sources.js';
import type { Sources } from '../../src/feed/sources.js';
import { startForeignService, type ForeignService } from '../harness/foreign-service.js';

const asker: Asker = {
  viewer: { userId: 900n, isAdmin: false },
  authorization: 'Bearer a.b.c',
  requestId: 'request-7',
};
const content = (i: number, more: object = {}) => ({
  text: `Post ${i}`,
  media: [{ url: 'https://example.org/a.png', kind: 'IMAGE', width: 10 }],
  publishTime: '2023-07-12T03:32:02.000+02:00',
  visibility: 'PUBLIC',
  author: { userId: '7' },
  counters: { likes: i, comments: 1, reposts: 2, favorites: 3 },
  viewerHasLiked: i % 2 === 1,
  ...more,
});

let service: ForeignService;
let remote: RemoteSources;
let states: string[];

beforeEach(async () => {
  states = [];
  service = await startForeignService();
  for (let i = 1; i <= 50; i += 1) service.contents.set(String(i), content(i));
  service.users.set('7', { handle: 'ann', displayName: 'Ann', avatarUrl: null, karma: 1 });
  open();
});
afterEach(async () => {
  await remote.close();
  await service.close();
});

function open(batchMax = 100, connections = 4): void {
  const { url } = service;
  remote = createRemoteSources({
    urls: { contents: url, users: url, counters: url },
    batchMax,
    connections,
    onChange: (_, state) => states.push(state),
  });
}

const hydrate = (timeoutMs = 5_000) => createHydration({ sources: remote.sources as Sources, timeoutMs }, asker);

/** What a load ends with: its value, or the code and message of its error. */
const outcome = async (load: Promise<unknown>): Promise<unknown> =>
  load.catch((error: unknown) => `${(error as TidelineError).code}: ${(error as TidelineError).message}`);

const ids = (count: number) => Array.from({ length: count }, (_, i) => BigInt(i + 1));
const BUSY = { status: 503, body: 'busy' };
const REFUSED = { status: 401, body: '{"errors":[{"message":"who are you"}]}' };
const DOWN = 'SERVICE_UNAVAILABLE: The content service cannot be reached.';
const UNUSABLE = 'SERVICE_UNAVAILABLE: The content service gave no usable answer for this.';

describe('a foreign service', () => {
  test('gives contents, users, counters and likes, with one request a source for a page of 50', async () => {
    const { contents, users, counters, viewerLikes } = hydrate();
    const page = await Promise.all(
      ids(50).map(async (id) =>
        Promise.all([contents.load(id), users.load(7n), counters.load(id), viewerLikes.load(id)]),
      ),
    );
    expect(page[1]).toEqual([
      {
        contentId: 2n,
        authorId: 7n,
        publishTime: 1689125522000,
        text: 'Post 2',
        media: [{ url: 'https://example.org/a.png', kind: 'IMAGE', width: 10, height: null, altText: null }],
        visibility: 'PUBLIC',
        repostOf: null,
      },
      { userId: 7n, handle: 'ann', displayName: 'Ann', avatarUrl: null },
      { likes: 2, comments: 1, reposts: 2, favorites: 3 },
      false,
    ]);
    expect(page[0]![3]).toBe(true);
    expect(service.requests.map(({ representations }) => representations.length).sort()).toEqual([1, 50, 50, 50]);
  });

  test("sees the viewer's authorization and the request id", async () => {
    await hydrate().contents.load(1n);
    expect(service.requests[0]!.headers).toMatchObject({ authorization: 'Bearer a.b.c', 'x-request-id': 'request-7' });
    expect(service.requests[0]!.representations).toEqual([{ __typename: 'Content', contentId: '1' }]);
  });

  test('is asked for no more than the batch limit at once, over connections that are kept and bounded', async () => {
    await remote.close();
    open(8, 2);
    for (let round = 0; round < 3; round += 1) {
      const hydration = hydrate();
      const found = await Promise.all(ids(50).map((id) => hydration.contents.load(id)));
      expect(found.map((details) => details?.contentId)).toEqual(ids(50));
    }
    expect(service.requests.map(({ representations }) => representations.length)).toEqual(
      Array.from({ length: 3 }, () => [8, 8, 8, 8, 8, 8, 2]).flat(),
    );
    expect(service.connections).toBeLessThanOrEqual(2);
  });

  test('does without what it does not know: no content, no user, and zeros for what has no counters', async () => {
    const { contents, users, counters, viewerLikes } = hydrate();
    expect(await Promise.all([contents.load(99n), users.load(99n), counters.load(99n), viewerLikes.load(99n)])).toEqual(
      [null, null, { likes: 0, comments: 0, reposts: 0, favorites: 0 }, false],
    );
    service.contents.set('1', content(1, { author: null, media: [] }));
    expect(await contents.load(1n)).toMatchObject({ authorId: null, media: [] });
  });
});

describe('one bad row costs only its row', () => {
  test.each([
    ['that fails', new Error('row 2 is on fire')],
    ['without a required field', content(2, { text: null })],
    ['of an unknown visibility', content(2, { visibility: 'FRIENDS' })],
    ['with a time that is none', content(2, { publishTime: 'yesterday' })],
    ['that is another one than asked for', content(2, { contentId: '3' })],
    ['with an id that is none', content(2, { author: { userId: '-7' } })],
    ['with media of an unknown kind', content(2, { media: [{ url: 'x', kind: 'HOLOGRAM' }] })],
  ])('a content %s', async (_, row) => {
    service.contents.set('2', row);
    const { contents } = hydrate();
    const found = await Promise.all(ids(3).map((id) => outcome(contents.load(id))));
    expect(found).toEqual([
      expect.objectContaining({ text: 'Post 1' }),
      UNUSABLE,
      expect.objectContaining({ text: 'Post 3' }),
    ]);
  });

  test('counters and likes that the service does not know are errors, not zeros', async () => {
    service.contents.set('2', content(2, { counters: null, viewerHasLiked: null }));
    service.contents.set('3', content(3, { counters: { likes: -1, comments: 0, reposts: 0, favorites: 0 } }));
    const { counters, viewerLikes } = hydrate();
    const unusable = 'SERVICE_UNAVAILABLE: The counter service gave no usable answer for this.';
    expect(await Promise.all(ids(3).map((id) => outcome(counters.load(id))))).toEqual([
      expect.objectContaining({ likes: 1 }),
      unusable,
      unusable,
    ]);
    expect(await Promise.all(ids(3).map((id) => outcome(viewerLikes.load(id))))).toEqual([true, unusable, true]);
  });

  test('a batch that fails costs its own ids, when others are answered', async () => {
    await remote.close();
    open(2);
    service.misbehave(({ representations }) => (representations[0]?.contentId === '1' ? BUSY : null));
    const { contents } = hydrate();
    expect(await Promise.all(ids(4).map((id) => outcome(contents.load(id))))).toEqual([
      DOWN,
      DOWN,
      expect.objectContaining({ text: 'Post 3' }),
      expect.objectContaining({ text: 'Post 4' }),
    ]);
  });
});

describe('a service that is down costs its fields', () => {
  test.each([
    ['status 500', { status: 500, body: '{"errors":[{"message":"no"}]}' }],
    ['something else than JSON', { status: 200, body: '<html>' }],
    ['too few rows', { status: 200, body: '{"data":{"_entities":[]}}' }],
    ['neither data nor errors', { status: 200, body: '{}' }],
    ['errors alone', { status: 200, body: '{"errors":[{"message":"Cannot query field"}]}' }],
    ['a refusal', REFUSED],
    [
      'nulls without saying which row failed',
      { status: 200, body: '{"data":{"_entities":[null]},"errors":[{"message":"x"}]}' },
    ],
  ])('%s', async (_, answer) => {
    service.misbehave(() => answer);
    expect(await outcome(hydrate().contents.load(1n))).toMatch(/^SERVICE_UNAVAILABLE: The content service/);
  });

  test('no answer in time', async () => {
    service.misbehave(() => 'hang');
    expect(await outcome(hydrate(30).contents.load(1n))).toBe(DOWN);
  });

  test('nobody listening', async () => {
    await service.close();
    expect(await outcome(hydrate().contents.load(1n))).toBe(DOWN);
  });

  test('a connection that was closed while idle is opened anew, unseen', async () => {
    await hydrate().contents.load(1n);
    let cuts = 0;
    service.misbehave(() => (cuts++ === 0 ? 'cut' : null));
    expect(await hydrate().contents.load(2n)).toMatchObject({ text: 'Post 2' });
    expect(service.connections).toBe(2);
  });

  test('after five failures in a row it is left alone, and asked again once a second until it answers', async () => {
    service.misbehave(() => BUSY);
    for (let i = 0; i < 8; i += 1) expect(await outcome(hydrate().contents.load(1n))).toBe(DOWN);
    expect(service.requests).toHaveLength(5);
    expect(states).toEqual(['open']);
    service.misbehave(() => null);
    await until(async () => (await outcome(hydrate().contents.load(1n))) !== DOWN);
    expect(states).toEqual(['open', 'closed']);
  });

  test('while one request tries a service that hangs, the others fail at once instead of waiting for it', async () => {
    service.misbehave(() => BUSY);
    for (let i = 0; i < 5; i += 1) await outcome(hydrate().contents.load(1n));
    service.misbehave(() => 'hang');
    const trying: Promise<unknown>[] = [];
    await until(() => {
      if (service.requests.length === 5) trying.push(outcome(hydrate(60_000).contents.load(1n)));
      return service.requests.length === 6;
    });
    const other = outcome(hydrate(60_000).contents.load(1n));
    expect(await Promise.race([other, Promise.all(trying)])).toBe(DOWN);
    await service.close();
    expect(new Set(await Promise.all(trying))).toEqual(new Set([DOWN]));
  });

  test('refusals of single viewers leave it to the others', async () => {
    service.misbehave(() => REFUSED);
    for (let i = 0; i < 8; i += 1) expect(await outcome(hydrate().contents.load(1n))).toBe(DOWN);
    service.misbehave(() => null);
    expect(await hydrate().contents.load(1n)).toMatchObject({ text: 'Post 1' });
    expect(states).toEqual([]);
  });
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('waited in vain');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
