import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TidelineError } from '../../src/domain/errors.js';
import { fromGlobalId, ID_MAX, parseId, toGlobalId, type NodeType } from '../../src/domain/ids.js';

const anyId = fc.bigInt({ min: 0n, max: ID_MAX });
const anyType = fc.constantFrom<NodeType>('Content', 'User', 'Comment');

it('reads every unsigned 64-bit integer back from its decimal form', () => {
  fc.assert(fc.property(anyId, (id) => parseId(id.toString(), 'id') === id));
  expect(parseId('18446744073709551615', 'id')).toBe(ID_MAX);
  expect(parseId('0', 'id')).toBe(0n);
});

it('refuses every other text with the name of the field', () => {
  const isCanonical = (text: string) =>
    /^\d+$/.test(text) && BigInt(text).toString() === text && BigInt(text) <= ID_MAX;
  const texts = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom(...Array.from('0123456789+-. eEx\n\u0663')) }),
    fc.bigInt().map(String),
    anyId.map((id) => `0${id}`),
  );
  fc.assert(
    fc.property(
      texts.filter((text) => !isCanonical(text)),
      (text) => {
        expect(() => parseId(text, 'contentId')).toThrow(TidelineError);
        expect(() => parseId(text, 'contentId')).toThrow(/^contentId /);
      },
    ),
  );
  expect(() => parseId('18446744073709551616', 'id')).toThrow(TidelineError);
});

it('gives each id of each type one global id, and knows it again', () => {
  fc.assert(
    fc.property(anyType, anyId, (type, id) => {
      expect(fromGlobalId(toGlobalId(type, id))).toEqual({ type, id });
    }),
  );
  expect(toGlobalId('Content', 5n)).toBe('Q29udGVudDo1');
});

it('knows no second spelling of a global id, and nothing else', () => {
  const spellings = (globalId: string) => [
    `${globalId}=`,
    `${globalId} `,
    ` ${globalId}`,
    `${globalId}\n`,
    globalId.slice(1),
  ];
  const encode = (text: string) => Buffer.from(text).toString('base64url');
  fc.assert(
    fc.property(anyType, anyId, (type, id) => {
      for (const spelling of spellings(toGlobalId(type, id))) expect(fromGlobalId(spelling)).toBeNull();
      expect(fromGlobalId(encode(`${type}:0${id}`))).toBeNull();
      expect(fromGlobalId(encode(`${type}:${id + ID_MAX + 1n}`))).toBeNull();
    }),
  );
  fc.assert(
    fc.property(fc.string(), (text) => {
      const found = fromGlobalId(text);
      expect(found === null || toGlobalId(found.type, found.id) === text).toBe(true);
      expect(fromGlobalId(encode(`Post:${text}`))).toBeNull();
    }),
  );
});
