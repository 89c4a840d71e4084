import { existsSync, readFileSync } from 'node:fs';

/** Two users who follow each other. */
export type MutualFollow = readonly [a: number, b: number];

export interface Graph {
  readonly name: string;
  readonly edges: readonly MutualFollow[];
}

const USERS = 962;
const EDGES = 18_812;

/** The Reed98 graph where its file is at hand, else one of the same size and shape. */
export function readSocialGraph(): Graph {
  const file = new URL('../../../shared/data/socfb-Reed98.edges', import.meta.url);
  if (!existsSync(file)) return { name: 'generated', edges: generateGraph(USERS, EDGES) };
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return { name: 'Reed98', edges: lines.map((line) => line.split(/[\s,]+/).map(Number) as [number, number]) };
}

/**
 * Preferential attachment: newcomers choose whom to follow by how many do already, so that few have many followers. The
 * same every time. User 0 is one of them, as in the file.
 */
export function generateGraph(users: number, edges: number): MutualFollow[] {
  const random = createRandom(98);
  const made = new Set<number>();
  const ends = [0];
  const result: MutualFollow[] = [];
  const add = (a: number, b: number): void => {
    const key = Math.max(a, b) * users + Math.min(a, b);
    if (a === b || made.has(key)) return;
    made.add(key);
    result.push([a, b]);
    ends.push(a, b);
  };
  const perUser = Math.max(1, Math.floor(edges / users));
  for (let newcomer = 1; newcomer < users; newcomer += 1) {
    // Of the first ones nobody finds enough others; the rest of the edges goes between anybody below.
    for (let i = 0; i < Math.min(perUser, newcomer); i += 1) add(newcomer, ends[random(ends.length)] as number);
    if (!ends.includes(newcomer)) add(newcomer, newcomer - 1);
  }
  while (result.length < edges) add(random(users), ends[random(ends.length)] as number);
  return result;
}

/** Whole numbers below a limit, the same sequence for the same seed (mulberry32). */
export function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
