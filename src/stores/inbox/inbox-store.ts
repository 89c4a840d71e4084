import type { Entry, Walk } from '../../domain/entry.js';
import type { InboxHead, ReaderSeqs } from '../../domain/inbox-head.js';

/** One reader's inbox, read at one instant. A null head means that there is none (or none that can be relied on). */
export interface InboxPage {
  readonly head: InboxHead | null;
  readonly entries: readonly Entry[];
  /** A reader's state of an earlier epoch does not know yet that this store may have lost something. */
  readonly validSince?: bigint;
}

/** What a rebuild found in the authority after it had begun. */
export interface InboxFill extends ReaderSeqs {
  readonly entries: readonly Entry[];
  readonly allFloor: Entry;
  readonly activeFloor: Entry;
}

/**
 * Inboxes of entries with the head that says down to where each is complete (src/domain/inbox-head.ts). Every call is
 * atomic per inbox and may be repeated. All stores pass test/service/inbox-store.test.ts.
 */
export interface InboxStore {
  /** The kind of store and all that its keys depend on: whoever names it otherwise reads other inboxes. */
  readonly name: string;
  /** Puts one entry into each inbox that exists; trims to the cap and raises the floors to the oldest entry kept. */
  insert(userIds: readonly bigint[], entry: Entry): Promise<{ delivered: number; absent: number }>;
  /** One page and the head, as of one instant, in one round trip. */
  read(userId: bigint, request: Walk): Promise<InboxPage>;
  /** Makes the inbox take pushes from now on, keeping what it holds, and names the rebuild that may fill it. */
  begin(userId: bigint, nonce: string): Promise<void>;
  /** Merges the entries and sets the head in one step. False when another rebuild has begun or the inbox was lost. */
  fill(userId: bigint, nonce: string, fill: InboxFill): Promise<boolean>;
  /**
   * Removes entries that their reader can no longer see. With `followSeq`, only while the inbox covers exactly the
   * follows up to it: whoever follows again in between keeps the posts that were merged back.
   */
  remove(userId: bigint, contents: readonly Entry[], followSeq: bigint | null): Promise<void>;
  /** Frees the inboxes. Their owners' next reads rebuild them. */
  drop(userIds: readonly bigint[]): Promise<void>;
}
