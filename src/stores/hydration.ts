import { countsSql, type Counts } from './counters.js';
import { defineStatement } from './database.js';

// Hot reads of the page: each is one named statement over an array of ids, so a page of any size costs one of each.

export interface ContentRow {
  id: string;
  author_id: string;
  publish_time: string;
  text: string;
  media: unknown;
  visibility: 'PUBLIC' | 'FOLLOWERS' | 'PRIVATE';
  repost_of: string | null;
}

/** $1 content ids. */
export const findContentRows = defineStatement<ContentRow>(
  'hydrate_contents',
  `SELECT c.id, c.author_id, c.publish_time, c.text, c.media, c.visibility, c.repost_of
     FROM contents c
    WHERE c.id = ANY($1::numeric[]) AND c.deleted_at IS NULL`,
);

export interface UserRow {
  id: string;
  handle: string;
  display_name: string;
  avatar_url: string | null;
}

/** $1 user ids. */
export const findUserRows = defineStatement<UserRow>(
  'hydrate_users',
  `SELECT id, handle, display_name, avatar_url
     FROM users u WHERE id = ANY($1::numeric[]) AND deleted_at IS NULL`,
);

/** $1 content ids. */
export const findCounterRows = defineStatement<Counts & { content_id: string }>(
  'hydrate_counters',
  `SELECT content_id, likes, comments, reposts, favorites FROM (${countsSql('$1::numeric[]')}) c`,
);

/** $1 user id, $2 content ids. */
export const findLikedRows = defineStatement<{ content_id: string }>(
  'hydrate_liked',
  `SELECT content_id FROM reactions
    WHERE content_id = ANY($2::numeric[]) AND kind = 'LIKE' AND user_id = $1::numeric AND active`,
);
