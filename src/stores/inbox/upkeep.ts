/** What maintenance needs of a store beyond what deliveries and readers need. */
export interface InboxUpkeep {
  /**
   * Some owners of inboxes, behind `position` ('' at the start); `position` is null at the end. Each inbox that exists all
   * the time is listed at least once. `limit` is a hint.
   */
  list(position: string, limit: number): Promise<{ userIds: bigint[]; position: string | null }>;
  /**
   * Drops the entries before a time (epoch milliseconds) and raises the floors of these inboxes to it, in one step for
   * each: what is older is pulled. Returns how many were dropped. Safe to repeat.
   */
  trimOlder(userIds: readonly bigint[], time: number): Promise<number>;
}
