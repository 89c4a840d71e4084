export const round = (number: number, digits = 2): number => Number(number.toFixed(digits));

/** The nearest rank; 0 of nothing. */
export function quantile(numbers: readonly number[], q: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}

/** The median of rounds, and how far they lie apart. */
export const summarize = (numbers: readonly number[], digits = 2) => ({
  median: round(quantile(numbers, 0.5), digits),
  from: round(Math.min(...numbers), digits),
  to: round(Math.max(...numbers), digits),
});
