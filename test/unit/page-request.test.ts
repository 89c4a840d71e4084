import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TidelineError } from '../../src/domain/errors.js';
import {
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  readPageRequest,
  readSize,
  type ConnectionArgs,
} from '../../src/domain/page-request.js';

function codeOf(args: ConnectionArgs): string {
  try {
    readPageRequest(args);
    return 'accepted';
  } catch (error) {
    return error instanceof TidelineError ? error.code : `crash: ${String(error)}`;
  }
}

it('walks older with first and after, newer with last and before', () => {
  expect(readPageRequest({})).toEqual({ size: 20, direction: 'older', cursor: null });
  expect(readPageRequest({ first: 5 })).toEqual({ size: 5, direction: 'older', cursor: null });
  expect(readPageRequest({ after: 'c' })).toEqual({ size: 20, direction: 'older', cursor: 'c' });
  expect(readPageRequest({ first: 100, after: 'c' })).toEqual({ size: 100, direction: 'older', cursor: 'c' });
  expect(readPageRequest({ last: 5, before: 'c' })).toEqual({ size: 5, direction: 'newer', cursor: 'c' });
  expect(readPageRequest({ before: 'c' })).toEqual({ size: 20, direction: 'newer', cursor: 'c' });
  expect(readPageRequest({ last: 0 })).toMatchObject({ size: 0 });
});

it.each<ConnectionArgs>([
  { first: 5, last: 5 },
  { first: 0, last: 0 },
  { first: 5, before: 'c' },
  { last: 5, after: 'c' },
  { before: 'c', after: 'c' },
  { first: 5, last: 5, before: 'c' },
  { last: 5 },
  { first: -1 },
  { first: 101 },
  { last: -1, before: 'c' },
  { last: 101, before: 'c' },
])('refuses %j', (args) => {
  expect(codeOf(args)).toBe('BAD_USER_INPUT');
});

it('treats null like an argument that was left out', () => {
  const anyArgs = fc.record({
    first: fc.option(fc.integer({ min: -3, max: 103 }), { nil: undefined }),
    last: fc.option(fc.integer({ min: -3, max: 103 }), { nil: undefined }),
    after: fc.option(fc.string(), { nil: undefined }),
    before: fc.option(fc.string(), { nil: undefined }),
  });
  fc.assert(
    fc.property(anyArgs, (args) => {
      const nulls = Object.fromEntries(Object.entries(args).map(([name, value]) => [name, value ?? null]));
      expect(codeOf(nulls)).toBe(codeOf(args));
      if (codeOf(args) !== 'accepted') return;
      const { size, cursor } = readPageRequest(args);
      expect(size).toBe(args.first ?? args.last ?? PAGE_SIZE_DEFAULT);
      expect(cursor).toBe(args.after ?? args.before ?? null);
    }),
  );
});

it('takes sizes from 0 to 100', () => {
  expect(readSize(undefined, 'first')).toBe(PAGE_SIZE_DEFAULT);
  fc.assert(
    fc.property(fc.integer(), (size) => {
      const isAllowed = size >= 0 && size <= PAGE_SIZE_MAX;
      if (isAllowed) expect(readSize(size, 'first')).toBe(size);
      else expect(() => readSize(size, 'first')).toThrow(/^first must be from 0 to 100/);
    }),
  );
});
