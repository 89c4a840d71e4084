/** Who waits for news of whom: the subscriptions of this process, by viewer and by followed author. */
export interface Audience<Watcher> {
  readonly size: number;
  add(watcher: Watcher, viewerId: bigint): void;
  /** Replaces the authors of whom this one hears. */
  follow(watcher: Watcher, authorIds: readonly bigint[]): void;
  remove(watcher: Watcher): void;
  ofAuthor(authorId: bigint): Iterable<Watcher>;
  ofViewer(viewerId: bigint): ReadonlySet<Watcher>;
  all(): Iterable<Watcher>;
}

export function createAudience<Watcher>(): Audience<Watcher> {
  const known = new Map<Watcher, { readonly viewerId: bigint; authorIds: readonly bigint[] }>();
  const byAuthor = new Map<bigint, Set<Watcher>>();
  const byViewer = new Map<bigint, Set<Watcher>>();

  function unfollow(watcher: Watcher): void {
    for (const authorId of known.get(watcher)?.authorIds ?? []) leave(byAuthor, authorId, watcher);
  }

  return {
    get size() {
      return known.size;
    },
    add(watcher, viewerId) {
      known.set(watcher, { viewerId, authorIds: [] });
      join(byViewer, viewerId, watcher);
    },
    follow(watcher, authorIds) {
      const entry = known.get(watcher);
      if (!entry) return;
      unfollow(watcher);
      entry.authorIds = authorIds;
      for (const authorId of authorIds) join(byAuthor, authorId, watcher);
    },
    remove(watcher) {
      const entry = known.get(watcher);
      if (!entry) return;
      unfollow(watcher);
      leave(byViewer, entry.viewerId, watcher);
      known.delete(watcher);
    },
    ofAuthor: (authorId) => byAuthor.get(authorId) ?? [],
    ofViewer: (viewerId) => byViewer.get(viewerId) ?? new Set(),
    all: () => known.keys(),
  };
}

function join<Watcher>(index: Map<bigint, Set<Watcher>>, id: bigint, watcher: Watcher): void {
  const set = index.get(id);
  if (set) set.add(watcher);
  else index.set(id, new Set([watcher]));
}

function leave<Watcher>(index: Map<bigint, Set<Watcher>>, id: bigint, watcher: Watcher): void {
  const set = index.get(id);
  set?.delete(watcher);
  if (set?.size === 0) index.delete(id);
}
