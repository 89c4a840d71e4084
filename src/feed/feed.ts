import { decodeCursor, encodeCursor, type Cursor, type CursorKeys } from '../domain/cursor.js';
import { justNewerThan, justOlderThan, type Direction, type Entry } from '../domain/entry.js';
import { TidelineError } from '../domain/errors.js';
import {
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  readPageRequest,
  readSize,
  type ConnectionArgs,
} from '../domain/page-request.js';
import { isDatabaseAway, throwAsAway } from '../stores/database-away.js';
import { readWithoutAuthority } from './read-without-authority.js';
import { scanFeed, type Scan, type ScanDeps } from './scan.js';

export interface FeedDeps extends ScanDeps {
  readonly cursorKeys: CursorKeys;
  /** TIMELINE_MAX_DEPTH, in entries. */
  readonly maxDepth: number;
  readonly onAuthorityAway: (error: unknown) => void;
  /** A page was answered. `isShort`: with fewer entries than asked for although the feed goes on. */
  readonly onPage?: (page: 'first' | 'next', seconds: number, isShort: boolean) => void;
}

export type EmptyReason =
  'NO_FOLLOWING' | 'NO_POSTS' | 'END_OF_FEED' | 'DEPTH_LIMIT' | 'NOTHING_REQUESTED' | 'UNAVAILABLE';

export interface FeedEdge {
  readonly cursor: string;
  readonly contentId: bigint;
}

export interface FeedPage {
  readonly edges: readonly FeedEdge[];
  readonly startCursor: string | null;
  readonly endCursor: string | null;
  /** Both are asked lazily: the side that a page came from costs a look of its own. */
  hasNextPage(): Promise<boolean>;
  hasPreviousPage(): Promise<boolean>;
  readonly emptyReason: EmptyReason | null;
  readonly isComplete: boolean;
  /** Fewer entries than asked for although the feed goes on: the scan budget ran out. */
  readonly isShort: boolean;
}

/**
 * One page of the viewer's home timeline. Order: publishTime, then contentId, both descending.
 * @throws TidelineError BAD_USER_INPUT for arguments that do not fit together, INVALID_CURSOR for a foreign or altered
 *   cursor. Without the authority the page holds what is still known, and says that it is not complete.
 */
export async function readFeed(deps: FeedDeps, userId: bigint, args: ConnectionArgs): Promise<FeedPage> {
  const { size, direction, cursor: text } = readPageRequest(args);
  const cursor = text === null ? null : decodeCursor(text, userId, deps.cursorKeys);
  const startedAt = performance.now();
  try {
    const page = await (direction === 'older' ? readOlderPage : readNewerPage)(deps, userId, size, cursor);
    deps.onPage?.(cursor ? 'next' : 'first', (performance.now() - startedAt) / 1000, page.isShort);
    return page;
  } catch (error) {
    const isAway = isDatabaseAway(error) || (error instanceof TidelineError && error.code === 'SERVICE_UNAVAILABLE');
    if (!isAway) throw error;
    deps.onAuthorityAway(error);
    return readPartialPage(deps, userId, size, direction, cursor);
  }
}

/** How many visible entries are newer than the cursor, counted up to `limit` (0 to 100). */
export async function countNewer(
  deps: FeedDeps,
  userId: bigint,
  than: string,
  limit: number | null | undefined,
): Promise<{ count: number; hasMore: boolean }> {
  const most = readSize(limit ?? PAGE_SIZE_MAX, 'limit');
  const from = decodeCursor(than, userId, deps.cursorKeys);
  const scan = await scanFeed(deps, userId, { from, direction: 'newer', want: most + 1 }).catch(throwAsAway);
  return { count: Math.min(most, scan.entries.length), hasMore: scan.entries.length > most || !scan.isEnd };
}

/** The scroll: `size` entries below the cursor, as far as the depth limit allows. */
async function readOlderPage(deps: FeedDeps, userId: bigint, size: number, cursor: Cursor | null): Promise<FeedPage> {
  const depth = cursor?.position ?? 0;
  const room = Math.max(0, deps.maxDepth - depth);
  const take = Math.min(size, room);
  const scan = room > 0 ? await scanFeed(deps, userId, { from: cursor, direction: 'older', want: take + 1 }) : null;
  const shown = (scan?.entries ?? []).slice(0, take).map((entry, i) => ({ ...entry, position: depth + i + 1 }));
  const above = shown[0] ?? (cursor && justOlderThan(cursor));
  return {
    ...encodePage(deps, userId, shown),
    ...(scan &&
      stoppedShort(scan, take) && { endCursor: encode(deps, userId, scan.lastScanned, depth + shown.length) }),
    hasNextPage: async () => scan !== null && shown.length < room && (scan.entries.length > take || !scan.isEnd),
    hasPreviousPage: async () => cursor !== null && above !== null && hasVisible(deps, userId, above, 'newer'),
    emptyReason: shown.length > 0 ? null : whyEmpty(size, scan, cursor),
    isComplete: true,
    isShort: scan !== null && stoppedShort(scan, take),
  };
}

/** The gap above a cursor: the `size` entries next to it, newest first. */
async function readNewerPage(deps: FeedDeps, userId: bigint, size: number, cursor: Cursor | null): Promise<FeedPage> {
  const scan = cursor && (await scanFeed(deps, userId, { from: cursor, direction: 'newer', want: size + 1 }));
  const depth = cursor?.position ?? 1;
  const positionOf = (i: number): number => Math.max(1, depth - i);
  const found = (scan?.entries ?? []).slice(0, size);
  const shown = found.map((entry, i) => ({ ...entry, position: positionOf(i + 1) })).reverse();
  const below = shown.at(-1) ?? (cursor && justNewerThan(cursor));
  return {
    ...encodePage(deps, userId, shown),
    ...(scan &&
      stoppedShort(scan, size) && { startCursor: encode(deps, userId, scan.lastScanned, positionOf(found.length)) }),
    hasNextPage: async () => below !== null && hasVisible(deps, userId, below, 'older'),
    hasPreviousPage: async () => scan !== null && (scan.entries.length > size || !scan.isEnd),
    emptyReason: shown.length > 0 ? null : whyEmpty(size, scan, cursor),
    isComplete: true,
    isShort: scan !== null && stoppedShort(scan, size),
  };
}

function encodePage(deps: FeedDeps, userId: bigint, shown: readonly Cursor[]) {
  const edges = shown.map((cursor) => ({
    cursor: encodeCursor(cursor, userId, deps.cursorKeys),
    contentId: cursor.contentId,
  }));
  return { edges, startCursor: edges[0]?.cursor ?? null, endCursor: edges.at(-1)?.cursor ?? null };
}

/** The budget ran out before the page was full: its outer cursor moves past all that was looked at, shown or not. */
const stoppedShort = (scan: Scan, size: number): scan is Scan & { lastScanned: Entry } =>
  !scan.isEnd && scan.entries.length < size && scan.lastScanned !== null;

const encode = (deps: FeedDeps, userId: bigint, entry: Entry, position: number): string =>
  encodeCursor({ ...entry, position }, userId, deps.cursorKeys);

/** What is known without the authority, and the reader's place: the same cursor goes on once the authority is back. */
async function readPartialPage(
  deps: FeedDeps,
  userId: bigint,
  size: number,
  direction: Direction,
  cursor: Cursor | null,
): Promise<FeedPage> {
  const known = (await readWithoutAuthority(deps, userId, { from: cursor, direction, want: size })) ?? [];
  const step = direction === 'older' ? 1 : -1;
  const depth = cursor?.position ?? 0;
  const walked = known
    .map((entry, i) => ({ ...entry, position: Math.max(1, depth + step * (i + 1)) }))
    .filter(({ position }) => position <= deps.maxDepth);
  const shown = direction === 'older' ? walked : walked.reverse();
  const place = cursor && encodeCursor(cursor, userId, deps.cursorKeys);
  return {
    ...(shown.length > 0 ? encodePage(deps, userId, shown) : { edges: [], startCursor: place, endCursor: place }),
    hasNextPage: () => Promise.resolve(true),
    hasPreviousPage: () => Promise.resolve(cursor !== null),
    emptyReason: shown.length > 0 ? null : size === 0 ? 'NOTHING_REQUESTED' : 'UNAVAILABLE',
    isComplete: false,
    isShort: shown.length < size,
  };
}

/** A look at the side a page came from. True when it cannot tell within its budget. */
async function hasVisible(deps: FeedDeps, userId: bigint, from: Entry, direction: Direction): Promise<boolean> {
  const scan = await scanFeed(deps, userId, { from, direction, want: 1, batch: PAGE_SIZE_DEFAULT }).catch(throwAsAway);
  return scan.entries.length > 0 || !scan.isEnd;
}

function whyEmpty(size: number, scan: Scan | null, cursor: Cursor | null): EmptyReason | null {
  if (size === 0) return 'NOTHING_REQUESTED';
  if (scan === null) return 'DEPTH_LIMIT';
  if (scan.followsNobody) return 'NO_FOLLOWING';
  if (!scan.isEnd) return null;
  return cursor ? 'END_OF_FEED' : 'NO_POSTS';
}
