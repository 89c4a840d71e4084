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
