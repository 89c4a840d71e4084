import type { Clock } from '../domain/clock.js';
import type { CursorKeys } from '../domain/cursor.js';
import type { CommentIndex } from '../stores/comment-index.js';
import type { Database } from '../stores/database.js';
import type { LiveSignal } from '../stores/live-signals.js';
import type { IdGenerator } from './id-generator.js';

/** What the commands and reads of the social side are built from; each takes what it uses. */
export interface SocialDeps {
  readonly pool: Database['pool'];
  readonly prisma: Database['prisma'];
  readonly ids: IdGenerator;
  readonly clock: Clock;
  readonly cursorKeys: CursorKeys;
  /**
   * Called after the commit of a deletion or a change of visibility, so that caches drop the content's details: in this
   * process before it returns, in others by a message. It must not throw.
   */
  readonly onContentChanged: (contentId: bigint) => void;
  /** The same after the commit of a change of a user's card. */
  readonly onUserChanged: (userId: bigint) => void;
  /** Called after the commit of whatever may change what open timelines show. It must not throw. */
  readonly announce?: (signals: readonly LiveSignal[]) => void;
  /** Called after the commit of a change of counts, so that the projection shows it soon. It must not throw. */
  readonly onCountersChanged?: (() => void) | undefined;
  /** Left out: pages of comments are read from the authority alone. */
  readonly commentIndex?: CommentIndex | undefined;
  /** Runs work behind a reader's back, once a key at a time. */
  readonly schedule?: ((key: string, work: () => Promise<unknown>) => void) | undefined;
}
