export interface AuthorShares {
  /** Null when the author has all that one may have; else call the result when the work has ended. */
  enter(authorId: bigint): (() => void) | null;
}

/**
 * How many jobs of one process may belong to one author at a time, so that slow tasks of one never hold all executors.
 * @param most at least 1
 */
export function createAuthorShares(most: number): AuthorShares {
  const running = new Map<bigint, number>();
  return {
    enter(authorId) {
      const now = running.get(authorId) ?? 0;
      if (now >= most) return null;
      running.set(authorId, now + 1);
      return () => {
        const left = (running.get(authorId) ?? 1) - 1;
        if (left > 0) running.set(authorId, left);
        else running.delete(authorId);
      };
    },
  };
}
