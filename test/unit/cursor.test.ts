import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeCursor, encodeCursor, type Cursor, type CursorKeys } from '../../src/domain/cursor.js';
import { PUBLISH_TIME_MAX } from '../../src/domain/entry.js';
import { TidelineError } from '../../src/domain/errors.js';
import { ID_MAX } from '../../src/domain/ids.js';

const anyId = fc.bigInt({ min: 0n, max: ID_MAX });
const anyCursor = fc.record<Cursor>({
  publishTime: fc.integer({ min: 0, max: PUBLISH_TIME_MAX }),
  contentId: anyId,
  position: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
});
const keys: CursorKeys = ['the signing key of the tests'];

function codeOf(text: string, viewerId: bigint, by: CursorKeys = keys): string {
  try {
    decodeCursor(text, viewerId, by);
    return 'accepted';
  } catch (error) {
    return error instanceof TidelineError ? error.code : `crash: ${String(error)}`;
  }
}

it('brings every position back, in 42 characters, the same text each time', () => {
  fc.assert(
    fc.property(anyCursor, anyId, (cursor, viewerId) => {
      const text = encodeCursor(cursor, viewerId, keys);
      expect(text).toMatch(/^[\w-]{42}$/);
      expect(encodeCursor(cursor, viewerId, keys)).toBe(text);
      expect(decodeCursor(text, viewerId, keys)).toEqual(cursor);
    }),
  );
});

it('refuses a cursor of another viewer', () => {
  fc.assert(
    fc.property(anyCursor, anyId, anyId, (cursor, viewerId, other) => {
      fc.pre(viewerId !== other);
      expect(codeOf(encodeCursor(cursor, viewerId, keys), other)).toBe('INVALID_CURSOR');
    }),
  );
});

it('refuses a cursor in which any bit was changed', () => {
  fc.assert(
    fc.property(anyCursor, anyId, fc.nat({ max: 31 * 8 - 1 }), (cursor, viewerId, bit) => {
      const bytes = Buffer.from(encodeCursor(cursor, viewerId, keys), 'base64url');
      bytes[bit >> 3]! ^= 1 << (bit & 7);
      expect(codeOf(bytes.toString('base64url'), viewerId)).toBe('INVALID_CURSOR');
    }),
    { numRuns: 500 },
  );
});

it('refuses every other spelling of a cursor, and any text that is none, without a crash', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const text = encodeCursor({ publishTime: 1, contentId: 2n, position: 3 }, 4n, keys);
  const others = Array.from(alphabet)
    .map((last) => text.slice(0, -1) + last)
    .filter((it) => it !== text);
  for (const other of [...others, `${text}=`, `${text} `, ` ${text}`, `${text}A`, text.slice(1), '']) {
    expect(codeOf(other, 4n)).toBe('INVALID_CURSOR');
  }
  fc.assert(fc.property(fc.string(), (other) => codeOf(other, 4n) === 'INVALID_CURSOR'));
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...Array.from(alphabet)), minLength: 42, maxLength: 42 }),
      (other) => {
        expect(codeOf(other, 4n)).toBe('INVALID_CURSOR');
      },
    ),
  );
});

it('accepts each of the keys while they are rotated, and none that was retired', () => {
  fc.assert(
    fc.property(anyCursor, anyId, (cursor, viewerId) => {
      const old = encodeCursor(cursor, viewerId, ['old key']);
      expect(decodeCursor(old, viewerId, ['new key', 'old key'])).toEqual(cursor);
      expect(codeOf(old, viewerId, ['new key'])).toBe('INVALID_CURSOR');
      expect(encodeCursor(cursor, viewerId, ['new key', 'old key'])).toBe(encodeCursor(cursor, viewerId, ['new key']));
    }),
  );
});

/** Numbers that are the same at every run, so that a failure can be repeated (mulberry32). */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

it('100,000 mutations of cursors yield INVALID_CURSOR and nothing else', () => {
  const random = createRandom(20_261_201);
  const alphabet = 'ABCXYZabcxyz0189-_=+/ .,%\u0000\n\u00e9\u{1f30a}';
  const symbols = Array.from(alphabet);
  const fuzzKeys = ['a key of this fuzz run', 'an older key of it'] as const;
  const make = (viewerId: bigint) =>
    encodeCursor(
      { publishTime: random(2 ** 31), contentId: BigInt(random(2 ** 31)), position: random(2_000) },
      viewerId,
      fuzzKeys,
    );
  const viewerId = 7n;
  const valid = new Set(Array.from({ length: 50 }, () => make(viewerId)));
  const own = [...valid];
  const foreign = Array.from({ length: 50 }, (_, i) => make(8n + BigInt(i)));
  const pick = <T>(from: readonly T[]): T => from[random(from.length)]!;
  const flipBit = (text: string): string => {
    const bytes = Buffer.from(text, 'base64url');
    const at = random(bytes.length);
    bytes[at] = bytes[at]! ^ (1 << random(8));
    return bytes.toString('base64url');
  };
  const mutations: ((text: string) => string)[] = [
    flipBit,
    (text) => flipBit(flipBit(text)),
    (text) => text.slice(0, random(text.length)),
    (text) => text.slice(1 + random(text.length - 1)),
    (text) => text + pick(symbols).repeat(1 + random(5)),
    (text) => pick(symbols) + text,
    (text) => {
      const at = random(text.length);
      return text.slice(0, at) + pick(symbols) + text.slice(at + random(2));
    },
    // A body under the signature of another cursor, and another viewer's cursor as it is.
    (text) => Buffer.concat([bytesOf(text).subarray(0, 19), bytesOf(pick(own)).subarray(19)]).toString('base64url'),
    () => pick(foreign),
    () => Buffer.from(Array.from({ length: 31 }, () => random(256))).toString('base64url'),
    (text) => bytesOf(text).toString('base64'),
    (text) => bytesOf(text).toString('hex'),
    () => Array.from({ length: random(60) }, () => pick(symbols)).join(''),
  ];
  const outcomes = new Map<string, number>();
  for (let i = 0; i < 100_000; i += 1) {
    const mutated = mutations[i % mutations.length]!(pick(own));
    if (valid.has(mutated)) continue;
    const outcome = codeOf(mutated, viewerId, fuzzKeys);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  expect([...outcomes.keys()]).toEqual(['INVALID_CURSOR']);
  expect(outcomes.get('INVALID_CURSOR')).toBeGreaterThan(95_000);
});

const bytesOf = (text: string) => Buffer.from(text, 'base64url');
