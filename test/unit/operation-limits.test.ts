import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'graphql';
import { createCostCalculator } from '../../src/limits/operation-cost.js';
import { findExcess } from '../../src/limits/operation-limits.js';
import { findProjectFile } from '../../src/project-files.js';

const limits = { depthMax: 4, aliasesMax: 3, directivesMax: 2 };
const excessOf = (query: string) => findExcess(parse(query), limits)?.message ?? null;

describe('the shape of an operation', () => {
  test.each([
    ['{ a { b { c { d } } } }', null],
    ['{ a { b { c { d { e } } } } }', 'The operation nests fields deeper than 4 levels.'],
    [
      '{ a { ...F } } fragment F on T { b { ... on T { c { d { e } } } } }',
      'The operation nests fields deeper than 4 levels.',
    ],
    ['{ __schema { types { fields { args { type { name } } } } } }', null],
    ['{ a: x b: x c: x }', null],
    ['{ a: x b: x c: x d: x }', 'The operation has more than 3 aliases.'],
    ['{ ...F ...F } fragment F on T { a: x b: x }', 'The operation has more than 3 aliases.'],
    ['query @a { x @b }', null],
    ['query @a { ...F @b } fragment F on T { x @c }', 'The operation has more than 2 directives.'],
    ['{ x @a@b@c }', 'The operation has more than 2 directives.'],
  ])('%s: %s', (query, excess) => {
    expect(excessOf(query)).toBe(excess);
  });

  test('fragments that double at every step are cut off, and cycles end', () => {
    const doubling = Array.from({ length: 60 }, (_, i) => `fragment F${i} on T { ...F${i + 1} ...F${i + 1} }`);
    expect(excessOf(`{ ...F0 } ${doubling.join(' ')} fragment F60 on T { x }`)).toBe(
      'The operation selects more than 10000 fields.',
    );
    expect(excessOf('{ ...A } fragment A on T { x ...B } fragment B on T { ...A }')).toBeNull();
  });
});

describe('the cost of an operation', () => {
  const costOf = createCostCalculator(parse(readFileSync(findProjectFile('schema/supergraph.graphql'), 'utf8')));
  const cost = (query: string, variables = {}) => costOf({ document: parse(query), variables });

  test.each<[string, object, number]>([
    // 5 for the feed, 1 for the connection, and 3 objects for each of 20 posts.
    ['{ timelineFeed { edges { cursor node { text author { handle } counters { likes } } } } }', {}, 66],
    ['{ timelineFeed(first: 2) { edges { node { text } } pageInfo { endCursor } } }', {}, 8],
    ['query ($n: Int) { timelineFeed(first: $n) { nodes { text } } }', { n: 50 }, 56],
    ['query ($n: Int = 3) { timelineFeed(last: $n) { nodes { text } } }', {}, 9],
    ['query ($n: Int) { timelineFeed(first: $n) { nodes { text } } }', {}, 26],
    // A longer page than there can be is refused by its subgraph, with a better error.
    ['{ timelineFeed(first: 2147483647) { nodes { text } } }', {}, 106],
    ['{ timelineFeed(first: -5) { nodes { text } } }', {}, 6],
    ['query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on User { handle } } }', { ids: ['a', 'b', 'c'] }, 3],
    ['{ nodes(ids: ["a", "b"]) { id } }', {}, 2],
    // Lists within lists multiply: 1 user, 2 + 1 for its connection, and for each of 10 posts 1, 2 + 1 and 10 comments.
    [
      '{ user(userId: "1") { contents(first: 10) { edges { node { comments(first: 10) { edges { node { id } } } } } } } }',
      {},
      144,
    ],
    ['mutation { setFollow(input: { userId: "1", following: true }) { user { handle } } }', {}, 12],
    ['{ a: viewer { id } b: viewer { id } }', {}, 2],
    ['{ ...F } fragment F on Query { viewer { id } }', {}, 1],
    ['{ __typename __schema { types { name } } }', {}, 0],
  ])('%s %j costs %d', (query, variables, expected) => {
    expect(cost(query, variables)).toBe(expected);
  });

  test('at a subgraph the entities count as often as there are representations', () => {
    const ofSubgraph = createCostCalculator(parse(readFileSync(findProjectFile('schema/social.graphql'), 'utf8')));
    const query = `query ($representations: [_Any!]!) { _entities(representations: $representations) {
      ... on Content { likers(first: 4) { edges { node { handle } } } } } }`;
    const representations = [{ contentId: '1' }, { contentId: '2' }];
    expect(ofSubgraph({ document: parse(query), variables: { representations } })).toBe(14);
  });
});
