import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readText } from '../../src/social/validate-text.js';

it('accepts exactly what has min to max code points after trimming, and gives it back trimmed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 12 }), fc.nat({ max: 2 }), (text, min) => {
      const trimmed = text.trim();
      const length = Array.from(trimmed).length;
      const isAllowed = length >= min && length <= 6 && !trimmed.includes('\0');
      if (isAllowed) expect(readText(text, 'text', { min, max: 6 })).toBe(trimmed);
      else expect(() => readText(text, 'text', { min, max: 6 })).toThrow(/^text must/);
    }),
    { numRuns: 1000 },
  );
});
