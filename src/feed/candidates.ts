import type { Clock } from '../domain/clock.js';
import { comesBefore, ENTRY_MIN, ENTRY_TOP, isNewer, type Entry, type Walk } from '../domain/entry.js';
import { effectiveFloors, needsRebuild, type Floors, type InboxHead } from '../domain/inbox-head.js';
import { mergeEntries } from '../domain/merge.js';
import type { InboxPage, InboxStore } from '../stores/inbox/inbox-store.js';
import { readFollowees, readReaderState, type Followee, type ReaderState } from '../stores/reader-state.js';
import { accountDeleted } from '../stores/users.js';
import type { StandIn } from './guards.js';
import { readOutboxes, type PullDeps, type PullRange } from './pull-outboxes.js';

export interface CandidateDeps extends PullDeps {
  readonly inbox: Pick<InboxStore, 'name' | 'read'>;
  readonly includeOwn: boolean;
  readonly standIn: StandIn;
  readonly clock: Clock;
  /** Two sources brought the same entry. */
  readonly onDuplicate?: () => void;
  /** Reads for somebody who looks on (an audit): the reader is not marked as seen. */
  readonly isObserver?: boolean;
}

/** Entries of a walk before any rule is applied to them, complete as far as they go. */
export interface Candidates {
  readonly entries: readonly Entry[];
  /** No further entries follow in this direction. */
  readonly isEnd: boolean;
  readonly reader: ReaderState;
  readonly head: InboxHead | null;
  /** A rebuild would let the inbox answer for more than it did. */
  readonly isStale: boolean;
  readonly pulledOutboxes: number;
}

/**
 * The next `limit` entries of a walk: the merge of what is in flight, the inbox, and the outboxes for which the inbox does
 * not answer. The reader's state, with the in-flight list, is read before the inbox: whatever is no longer in flight in
 * it is in the inbox by then, or below a floor.
 */
export async function readCandidates(deps: CandidateDeps, userId: bigint, walk: Walk): Promise<Candidates> {
  const state = await readReaderState(deps.pool, userId, walk);
  if (state.isDeleted) throw accountDeleted();
  const reader = deps.isObserver ? asIfReturning(state, deps.clock()) : state;
  const usesInbox = reader.feedMode !== 'pull' && reader.inboxStore === deps.inbox.name;
  const inbox = usesInbox ? await readInbox(deps, userId, walk, reader.epoch) : NO_INBOX;
  const floors = effectiveFloors(inbox.head, reader);
  const held = mergeEntries([reader.inFlight, inbox.entries], walk.direction, walk.limit, deps.onDuplicate);
  const last = held.length === walk.limit ? (held.at(-1) as Entry) : null;
  // Whom the reader follows is asked only where the inbox may not answer for all: 500 follows cost as much as the page.
  const newestFloor = reader.followSeq > floors.followSeq ? ENTRY_TOP : floors.activeFloor;
  const followees = opensBelow(newestFloor, walk, last) ? await readFollowees(deps.pool, userId) : [];
  const ranges = openRanges(followees, floors, walk, last);
  if (deps.includeOwn) ranges.push({ authorId: userId, below: firstOf(ENTRY_TOP, walk), isPulled: false });
  const pull = () => readOutboxes(deps, ranges, walk, reader.epoch);
  const outboxes = await (usesInbox && !inbox.head ? deps.standIn(pull) : pull());
  const entries = mergeEntries([held, ...outboxes], walk.direction, walk.limit, deps.onDuplicate);
  return {
    entries,
    isEnd: entries.length < walk.limit,
    reader,
    head: inbox.head,
    isStale: usesInbox && !inbox.isDown && !deps.isObserver && needsRebuild(inbox.head, reader),
    pulledOutboxes: ranges.length,
  };
}

/** What a mark would do to the floors, without the mark: whoever was away is read as if coming back right now. */
const asIfReturning = (reader: ReaderState, now: number): ReaderState => {
  const awayMs = now - (reader.lastActiveAt ?? -Infinity);
  return {
    ...reader,
    activeSeq: reader.activeSeq + (awayMs > reader.activeMs ? 1n : 0n),
    awakeSeq: reader.awakeSeq + (awayMs > reader.dormantMs ? 1n : 0n),
  };
};

const NO_INBOX: InboxPage & { readonly isDown: boolean } = { head: null, entries: [], isDown: false };

async function readInbox(deps: CandidateDeps, userId: bigint, walk: Walk, epoch: bigint): Promise<typeof NO_INBOX> {
  try {
    const page = await deps.inbox.read(userId, walk);
    // The store may have lost something since the reader's state was read: this once, everything is pulled.
    return page.validSince !== undefined && page.validSince > epoch ? NO_INBOX : { ...page, isDown: false };
  } catch (error) {
    deps.onInboxError(error);
    return { ...NO_INBOX, isDown: true };
  }
}

/**
 * The outboxes that may hold entries which the inbox lacks, each below its floor: all of a follow that the inbox does not
 * cover yet, below activeFloor for authors pushed to active followers only, below allFloor for the rest. Left out are
 * those whose floor the walk does not reach: it has its `limit` entries (down to `last`) before.
 */
function openRanges(followees: readonly Followee[], floors: Floors, walk: Walk, last: Entry | null): PullRange[] {
  return followees.flatMap(({ userId: authorId, followSeq, isPulled }) => {
    const floor = followSeq > floors.followSeq ? ENTRY_TOP : isPulled ? floors.activeFloor : floors.allFloor;
    const below = opensBelow(floor, walk, last);
    return below ? [{ authorId, below, isPulled }] : [];
  });
}

/** From where a walk has to read an outbox of which the inbox lacks what is below the floor; null when it need not. */
function opensBelow(floor: Entry, walk: Walk, last: Entry | null): Entry | null {
  const below = firstOf(floor, walk);
  const isReached = last === null || walk.direction === 'newer' || isNewer(below, last);
  const isOpen = walk.direction === 'older' ? isNewer(below, ENTRY_MIN) : isNewer(below, walk.from ?? ENTRY_MIN);
  return isReached && isOpen ? below : null;
}

/** On the way down a walk reads an outbox from its position, on the way up to its floor. */
const firstOf = (floor: Entry, { from, direction }: Walk): Entry =>
  direction === 'older' && from && comesBefore(floor, from, 'older') ? from : floor;
