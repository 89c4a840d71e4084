import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compareEntries, isNewer, isOlder } from '../../src/domain/entry.js';
import { mergeEntries } from '../../src/domain/merge.js';

const entries = fc.array(
  fc.record({
    publishTime: fc.integer({ min: 0, max: 3 }),
    // Of all lengths, beyond 2^53 and 2^63 too: text has another order.
    contentId: fc.oneof(fc.bigInt({ min: 0n, max: 120n }), fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n })),
  }),
  { maxLength: 30 },
);
const idsOf = (list: readonly { contentId: bigint }[]) => list.map(({ contentId }) => contentId);

test('of one millisecond the greater id comes first, as a number: 10 before 9, 2^63 before 2^62', () => {
  const at = (contentId: bigint) => ({ publishTime: 5, contentId });
  const sorted = [9n, 2n ** 62n, 10n, 2n ** 63n, 100n].map(at).sort(compareEntries);
  expect(idsOf(sorted)).toEqual([2n ** 63n, 2n ** 62n, 100n, 10n, 9n]);
  expect([isNewer(at(10n), at(9n)), isOlder(at(10n), at(9n))]).toEqual([true, false]);
});

test('merged lists are what sorting all of them gives, each entry once', () => {
  fc.assert(
    fc.property(fc.array(entries, { maxLength: 6 }), fc.constantFrom('older', 'newer'), (lists, direction) => {
      const inOrder = (list: (typeof lists)[number]) => {
        const sorted = [...list].sort(
          (a, b) =>
            b.publishTime - a.publishTime || (a.contentId < b.contentId ? 1 : a.contentId > b.contentId ? -1 : 0),
        );
        const unique = sorted.filter(
          (it, i) => it.contentId !== sorted[i - 1]?.contentId || it.publishTime !== sorted[i - 1]?.publishTime,
        );
        return direction === 'older' ? unique : unique.reverse();
      };
      const merged = mergeEntries(lists.map(inOrder), direction as 'older', 1_000);
      expect(merged).toEqual(inOrder(lists.flat()));
    }),
  );
});
