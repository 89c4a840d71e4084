import { defineStatement, type Queryable } from './database.js';
import { notBlockedSql } from './visible-sql.js';

export type ReactionKind = 'LIKE' | 'FAVORITE';

export interface ReactionKey {
  readonly contentId: bigint;
  readonly userId: bigint;
  readonly kind: ReactionKind;
}

export interface ReactionState {
  readonly active: boolean;
  readonly version: number;
}

/** The state that somebody wants, and since when (epoch milliseconds). */
export interface WantedReaction extends ReactionKey {
  readonly active: boolean;
  /** Null: one more than the stored one. */
  readonly version: number | null;
  readonly wantedAt: number;
}

/** The state that stands now; `change` is 1 when it became active by this, -1 when it ceased to be. */
export interface SavedReaction extends ReactionState {
  readonly change: -1 | 0 | 1;
}

/** A user who liked a content, and when (epoch milliseconds). */
export interface Liker {
  readonly userId: bigint;
  readonly likedAt: number;
}

/** GraphQL's Int. A version that has come this far stays there. */
const VERSION_MAX = 2 ** 31 - 1;

export const reactionKeyOf = ({ contentId, kind, userId }: ReactionKey): string => `${contentId} ${kind} ${userId}`;

/**
 * Saves wanted states, in one statement and in the order of their keys, so that two calls at once never deadlock. A
 * version below the stored one changes nothing. `changed_at`, the place among the likers, moves only when `active` does.
 * @param wanted distinct keys; either all with a version or all without
 * @returns what stands, in the order of `wanted`. The rows are locked until the transaction ends.
 */
export async function saveReactions(db: Queryable, wanted: readonly WantedReaction[]): Promise<SavedReaction[]> {
  const isVersioned = wanted.some(({ version }) => version !== null);
  const values = [
    wanted.map(({ contentId }) => contentId),
    wanted.map(({ userId }) => userId),
    wanted.map(({ kind }) => kind),
    wanted.map(({ active }) => active),
    wanted.map(({ version }) => version ?? 1),
    wanted.map(({ wantedAt }) => new Date(wantedAt)),
  ];
  const saved = mapByKey(await (isVersioned ? upsertVersioned : upsertNext)(db, values));
  // What an out-of-date version has left as it is was locked all the same; a new statement sees it.
  const isStale = saved.size < wanted.length;
  const stored = isStale ? mapByKey(await selectStates(db, values.slice(0, 3))) : saved;
  return wanted.map((reaction) => {
    const key = reactionKeyOf(reaction);
    const row = saved.get(key) ?? stored.get(key);
    if (!row) throw new Error('a reaction has vanished under its lock');
    const change = saved.has(key) ? Number(row.active) - Number(row.was_active) : 0;
    return { active: row.active, version: row.version, change: change as SavedReaction['change'] };
  });
}

/** Most recent first, without whom the viewer blocks or is blocked by. */
export async function readLikers(
  db: Queryable,
  contentId: bigint,
  page: { viewerId: bigint | null; after: Liker | null; limit: number },
): Promise<Liker[]> {
  const { viewerId, after, limit } = page;
  const rows = await (after
    ? selectLikersAfter(db, [contentId, viewerId, limit, new Date(after.likedAt), after.userId])
    : selectLikers(db, [contentId, viewerId, limit]));
  return rows.map((row) => ({ userId: BigInt(row.user_id), likedAt: row.changed_at.getTime() }));
}

interface StateRow {
  content_id: string;
  user_id: string;
  kind: ReactionKind;
  active: boolean;
  was_active: boolean;
  version: number;
}

const mapByKey = (rows: readonly StateRow[]): ReadonlyMap<string, StateRow> =>
  new Map(rows.map((row) => [`${row.content_id} ${row.kind} ${row.user_id}`, row]));

const COLUMNS = 'content_id, user_id, kind, active, was_active, version';

/** The same state again is not written; was_active is the state that a write replaced. */
const upsertStatement = (name: string, version: string, condition: string) =>
  defineStatement<StateRow>(
    name,
    `INSERT INTO reactions AS r (content_id, user_id, kind, active, version, changed_at)
     SELECT * FROM unnest($1::numeric[], $2::numeric[], $3::reaction_kind[], $4::boolean[], $5::int[], $6::timestamptz[])
       AS w (content_id, user_id, kind, active, version, wanted_at)
     ORDER BY content_id, kind, user_id
     ON CONFLICT (content_id, kind, user_id) DO UPDATE SET
       was_active = r.active, active = excluded.active, version = ${version},
       changed_at = CASE WHEN r.active = excluded.active THEN r.changed_at ELSE excluded.changed_at END
     WHERE ${condition}
     RETURNING ${COLUMNS}`,
  );

const upsertVersioned = upsertStatement(
  'reactions_save',
  'excluded.version',
  'excluded.version > r.version OR (excluded.version = r.version AND excluded.active <> r.active)',
);

const upsertNext = upsertStatement('reactions_save_next', `least(r.version::bigint + 1, ${VERSION_MAX})`, 'true');

const selectStates = defineStatement<StateRow>(
  'reactions_states',
  `SELECT ${COLUMNS} FROM reactions JOIN unnest($1::numeric[], $2::numeric[], $3::reaction_kind[])
     AS w (content_id, user_id, kind) USING (content_id, user_id, kind)`,
);

const likersStatement = (name: string, condition: string) =>
  defineStatement<{ user_id: string; changed_at: Date }>(
    name,
    `SELECT user_id, changed_at FROM reactions r
     WHERE content_id = $1 AND kind = 'LIKE' AND active AND ${notBlockedSql('$2::numeric', 'r.user_id')} ${condition}
     ORDER BY changed_at DESC, user_id DESC LIMIT $3`,
  );

const selectLikers = likersStatement('reactions_likers', '');
const selectLikersAfter = likersStatement(
  'reactions_likers_after',
  'AND (changed_at, user_id) < ($4::timestamptz, $5::numeric)',
);
