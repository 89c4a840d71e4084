/** A seeded source of choices: the same seed gives the same demo everywhere, which Math.random cannot. */
export interface Random {
  /** From 0 up to 1. */
  next(): number;
  /** A whole number from 0 below `end`. */
  below(end: number): number;
  pick<T>(items: readonly T[]): T;
  chance(probability: number): boolean;
  /** Heavy-tailed, from 1 to `max`: most are small, a few are very large. */
  heavyTailed(max: number, exponent: number): number;
}

/** mulberry32 (Tommy Ettinger, public domain): 32 bits of state are plenty for a demo. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return {
    next,
    below,
    pick: <T>(items: readonly T[]): T => items[below(items.length)] as T,
    chance: (probability) => next() < probability,
    heavyTailed: (max, exponent) => Math.min(max, Math.floor((1 - next()) ** (-1 / exponent))),
  };
}

/** Draws indexes by weight. */
export function createWeightedDraw(random: Random, weights: readonly number[]): () => number {
  let total = 0;
  const sums = weights.map((weight) => (total += weight));
  return () => {
    const wanted = random.next() * total;
    const index = sums.findIndex((sum) => sum > wanted);
    return index < 0 ? weights.length - 1 : index;
  };
}
