import { decodeCursor, encodeCursor, type CursorKeys } from '../domain/cursor.js';
import { compareEntries, ENTRY_TOP, type Entry } from '../domain/entry.js';
import { readSize } from '../domain/page-request.js';
import type { Viewer } from '../domain/viewer.js';

export interface PageArgs {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}

export interface Page<Item> {
  readonly edges: { readonly cursor: string; readonly item: Item }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

/** One list that can be paged through: `scope` names it, with the id of whatever it belongs to. */
export interface PagedList<Item> {
  readonly scope: string;
  /** The items behind `after`, at most `limit`. Null is the beginning. */
  read(after: Entry | null, limit: number): Promise<Item[]>;
  /** Where an item stands: its time and id, or what else orders the list. */
  placeOf(item: Item): Entry;
}

/**
 * Reads one page by keyset. Its cursors are signed for the viewer and for this list alone: one of another list is
 * refused, above all one that would begin a deep scroll of the feed at position 0.
 * @throws TidelineError BAD_USER_INPUT (first), INVALID_CURSOR (after).
 */
export async function readPage<Item>(
  keys: CursorKeys,
  viewer: Viewer | null,
  args: PageArgs,
  list: PagedList<Item>,
): Promise<Page<Item>> {
  const size = readSize(args.first, 'first');
  const listKeys = keys.map((key) => `${list.scope}:${key}`) as unknown as CursorKeys;
  const viewerId = viewer?.userId ?? 0n;
  const after = args.after ?? null;
  const place = after === null ? null : decodeCursor(after, viewerId, listKeys);
  // One more than asked for tells whether there is a next page, the head of the list whether there is a previous one.
  const [items, heads] = await Promise.all([list.read(place, size + 1), place ? list.read(null, 1) : []]);
  const edges = items.slice(0, size).map((item) => ({
    cursor: encodeCursor({ ...list.placeOf(item), position: 0 }, viewerId, listKeys),
    item,
  }));
  return {
    edges,
    pageInfo: {
      hasNextPage: items.length > size,
      hasPreviousPage: heads[0] !== undefined && !isHead(heads[0]),
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };

  /** Does the list begin with this page? The cursor's own item may be gone, and all before it. */
  function isHead(head: Item): boolean {
    const [next] = items;
    return next !== undefined && compareEntries(list.placeOf(head), list.placeOf(next)) === 0;
  }
}

/** For lists in entry order, which begin at their newest end. */
export const fromNewest = (after: Entry | null): Entry => after ?? ENTRY_TOP;
