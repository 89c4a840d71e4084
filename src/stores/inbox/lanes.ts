/** Runs calls in turns, at most `count` at once. */
export type Lanes = <T>(call: () => Promise<T>) => Promise<T>;

/** Who waits is bounded by the jobs that run at once: each waits for its own calls before it makes more. */
export function createLanes(count: number): Lanes {
  const ends = new Array<Promise<unknown>>(count).fill(Promise.resolve());
  let next = 0;
  return (call) => {
    const lane = next;
    next = (next + 1) % count;
    const result = (ends[lane] as Promise<unknown>).then(call);
    ends[lane] = result.catch(() => undefined);
    return result;
  };
}
