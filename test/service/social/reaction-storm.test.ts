import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createRandom, type Random } from '../../../src/demo/random.js';
import type { TidelineError } from '../../../src/domain/errors.js';
import { COUNTER_NAMES } from '../../../src/stores/counters.js';
import { openCounterWorld, type CounterWorld } from '../../harness/counters.js';
import { as } from '../../harness/social.js';

const RUNS = 20;
const USERS = 50;
const ACTIONS = 4;
const AUTHOR = 1;
/** A client's attempts at one request: connections are cut a few times a run. */
const ATTEMPTS_MAX = 100;

let world: CounterWorld;
/** Requests that were sent again. */
let retries = 0;
beforeAll(async () => {
  world = await openCounterWorld();
  await world.addUsers(1, USERS + 1);
});
afterAll(() => world.close());

interface Request {
  readonly userId: number;
  readonly kind: 'LIKE' | 'FAVORITE';
  readonly active: boolean;
  readonly version: number;
}

it.each(Array.from({ length: RUNS }, (_, seed) => seed + 1))(
  'ends with the highest version of each user and with exact counts, whatever was repeated, late or cut off (run %i)',
  async (seed) => {
    const random = createRandom(seed);
    const { contentId } = await world.socials[0].publishContent(as(AUTHOR), { text: 'hot' });
    const requests = createRequests(random);
    const sent = Promise.all(requests.map((request, i) => send(contentId, request, i)));
    for (let cuts = 0; cuts < 3; cuts += 1) {
      for (let turns = random.below(200); turns > 0; turns -= 1) await turn();
      world.way.cut();
      await turn();
      world.way.mend();
    }
    await sent;

    const { rows } = await world.pool.query<Request & { user: string }>(
      'SELECT user_id::int AS "userId", kind, active, version FROM reactions WHERE content_id = $1',
      [contentId],
    );
    const stored = new Map(rows.map((row) => [`${row.userId} ${row.kind}`, row]));
    for (const [key, wanted] of lastOf(requests)) expect(stored.get(key)).toEqual(wanted);
    const relations = await world.relationsOf(contentId);
    expect(await world.countsOf(contentId)).toMatchObject(relations);
    await world.drain();
    expect(await world.projectedOf(contentId)).toMatchObject(relations);
    // Folded back: the row alone has it all.
    const counters = await world.pool.query(
      `SELECT ${COUNTER_NAMES.join(', ')} FROM content_counters WHERE content_id = $1`,
      [contentId],
    );
    expect(counters.rows).toEqual([relations]);
    expect((await world.pool.query('SELECT FROM content_counter_shards')).rowCount).toBe(0);
  },
);

it('cut requests off meanwhile, which their clients sent again', () => {
  expect(retries).toBeGreaterThan(0);
});

/** Each user's versions in any order, some requests twice. */
function createRequests(random: Random): Request[] {
  const requests: Request[] = [];
  for (let user = 0; user < USERS; user += 1) {
    for (let version = 1; version <= ACTIONS; version += 1) {
      const kind = random.chance(0.85) ? 'LIKE' : 'FAVORITE';
      const request = { userId: user + 2, kind, active: random.chance(0.6), version } as const;
      requests.push(request);
      if (random.chance(0.3)) requests.push(request);
    }
  }
  return requests
    .map((request) => ({ request, place: random.next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ request }) => request);
}

function lastOf(requests: readonly Request[]): Map<string, Request> {
  const last = new Map<string, Request>();
  for (const request of requests) {
    const key = `${request.userId} ${request.kind}`;
    if (request.version >= (last.get(key)?.version ?? 0)) last.set(key, request);
  }
  return last;
}

/** As a client does it: again until there is an answer. */
async function send(contentId: bigint, request: Request, i: number): Promise<void> {
  const social = world.socials[i % 2]!;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await social.setReaction(as(request.userId), { contentId, ...request });
      return;
    } catch (error) {
      if ((error as TidelineError).code !== 'SERVICE_UNAVAILABLE' || attempt === ATTEMPTS_MAX) throw error;
      retries += 1;
      await turn();
    }
  }
}
