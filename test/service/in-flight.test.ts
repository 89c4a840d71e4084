import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { comesBefore, compareEntries, type Direction, type Entry } from '../../src/domain/entry.js';
import { readReaderState } from '../../src/stores/reader-state.js';
import { createWorld, type World } from '../harness/world.js';

const READER = 1n;
const FOLLOWED = [2n, 3n, 4n, 5n];
const [STRANGER, FOLLOWED_QUIET] = [6n, 7n];
/** More than one look at what is in flight of everybody takes in. */
const STRANGE = 600;
const OWN = 40;
const START_MS = 1_700_000_000_000;

let world: World;
/** In flight of people that the reader follows, newest first. */
let expected: Entry[];

beforeAll(async () => {
  world = await createWorld();
  await world.reset([READER, ...FOLLOWED, STRANGER, FOLLOWED_QUIET]);
  const { pool } = world.app.database;
  await pool.query(
    `INSERT INTO follows (follower_id, followee_id, follow_seq) SELECT 1, id, id FROM unnest($1::numeric[]) AS id`,
    [[...FOLLOWED, FOLLOWED_QUIET].map(String)],
  );
  // Older than the strangers' and, as one or two at one time, newer; three quarters by one author.
  const own = Array.from({ length: OWN }, (_, i) => {
    const authorId = FOLLOWED[i % 4 === 0 ? (i / 4) % FOLLOWED.length : 0] as bigint;
    const publishTime = START_MS + (i < OWN - 6 ? 1_000 + Math.floor(i / 2) : 9_000 + Math.floor(i / 2));
    return { contentId: 9_007_199_254_740_992n + BigInt(i), publishTime, authorId, isDone: i % 10 === 9 };
  });
  const strange = Array.from({ length: STRANGE }, (_, i) => {
    return { contentId: BigInt(i + 1), publishTime: START_MS + 2_000 + i, authorId: STRANGER, isDone: false };
  });
  const all = [...own, ...strange];
  const rows = [
    all.map(({ contentId }) => String(contentId)),
    all.map(({ authorId }) => String(authorId)),
    all.map(({ publishTime }) => publishTime),
    all.map(({ isDone }) => (isDone ? 'DONE' : 'RUNNING')),
  ];
  const source = 'unnest($1::numeric[], $2::numeric[], $3::bigint[], $4::text[]) AS c (id, author, at, state)';
  await pool.query(
    `INSERT INTO contents (id, author_id, publish_time, text) SELECT id, author, at, state FROM ${source}`,
    rows,
  );
  await pool.query(
    `INSERT INTO fanouts (content_id, author_id, publish_time, state) SELECT id, author, at, state::fanout_state FROM ${source}`,
    rows,
  );
  expected = own
    .filter(({ isDone }) => !isDone)
    .map(({ publishTime, contentId }) => ({ publishTime, contentId }))
    .sort(compareEntries);
});
afterAll(() => world.close());

const walks = [1, 5, 6, 7, 21, 100].flatMap((limit) =>
  (['older', 'newer'] as const).map((direction) => [limit, direction] as const),
);

it.each(walks)(
  'the next %i in flight, %s, are those of the reader’s followees alone, wherever the walk stands',
  async (limit, direction) => {
    const positions: (Entry | null)[] = [null, ...expected, { publishTime: START_MS + 2_300, contentId: 301n }];
    for (const from of positions) {
      const state = await readReaderState(world.app.database.pool, READER, { from, direction, limit });
      expect(state.inFlight).toEqual(next(from, direction, limit));
    }
  },
);

function next(from: Entry | null, direction: Direction, limit: number): Entry[] {
  const walked = direction === 'older' ? expected : [...expected].reverse();
  return walked.filter((entry) => !from || comesBefore(from, entry, direction)).slice(0, limit);
}
