import type { Viewer } from '../domain/viewer.js';

export interface Media {
  readonly url: string;
  readonly kind: 'IMAGE' | 'VIDEO' | 'LINK';
  readonly width: number | null;
  readonly height: number | null;
  readonly altText: string | null;
}

export interface ContentDetails {
  readonly contentId: bigint;
  /** Null when a foreign service does not say. */
  readonly authorId: bigint | null;
  /** Epoch milliseconds. */
  readonly publishTime: number;
  readonly text: string;
  readonly media: readonly Media[];
  readonly visibility: 'PUBLIC' | 'FOLLOWERS' | 'PRIVATE';
  readonly repostOf: bigint | null;
}

export interface UserCard {
  readonly userId: bigint;
  readonly handle: string;
  readonly displayName: string;
  readonly avatarUrl: string | null;
}

export interface Counters {
  readonly likes: number;
  readonly comments: number;
  readonly reposts: number;
  readonly favorites: number;
}

/** For whom a source is asked, as the request that asks came in: foreign services get to see it. */
export interface Asker {
  readonly viewer: Viewer | null;
  readonly authorization?: string | undefined;
  readonly requestId?: string | undefined;
}

/** An Error is the failure of one row. */
export type Found<V> = ReadonlyMap<bigint, V | Error>;

// The three services that a company usually has already. Each method takes at most 1,000 distinct ids, may be given up
// through `signal`, and rejects when the service as a whole failed.

/** Deleted and unknown contents are absent. */
export interface ContentSource {
  findContents(ids: readonly bigint[], signal: AbortSignal, asker: Asker): Promise<Found<ContentDetails>>;
}

/** Unknown users are absent. */
export interface UserSource {
  findUsers(ids: readonly bigint[], signal: AbortSignal, asker: Asker): Promise<Found<UserCard>>;
}

/** A content without counters has none yet: absent means zeros. */
export interface CounterSource {
  findCounters(contentIds: readonly bigint[], signal: AbortSignal, asker: Asker): Promise<Found<Counters>>;
  /** Whether the viewer likes each of the contents now; absent means no. Not called without a viewer. */
  findLiked(contentIds: readonly bigint[], signal: AbortSignal, asker: Asker): Promise<Found<boolean>>;
}

export interface Sources {
  readonly contents: ContentSource;
  readonly users: UserSource;
  readonly counters: CounterSource;
}
