import type { Queryable } from '../stores/database.js';
import { findContentRows, findCounterRows, findLikedRows, findUserRows, type ContentRow } from '../stores/hydration.js';
import type { ContentDetails, Media, Sources } from './sources.js';

/**
 * The sources over this project's own tables. A lookup that was given up still ends by itself: the pool's
 * statement_timeout bounds it.
 */
export function createLocalSources(db: Queryable): Sources {
  return {
    contents: {
      async findContents(ids, signal) {
        signal.throwIfAborted();
        const rows = await findContentRows(db, [ids]);
        return new Map(rows.map((row) => [BigInt(row.id), readContent(row)]));
      },
    },
    users: {
      async findUsers(ids, signal) {
        signal.throwIfAborted();
        const rows = await findUserRows(db, [ids]);
        return new Map(
          rows.map(({ id, handle, display_name: displayName, avatar_url: avatarUrl }) => [
            BigInt(id),
            { userId: BigInt(id), handle, displayName, avatarUrl },
          ]),
        );
      },
    },
    counters: {
      async findCounters(ids, signal) {
        signal.throwIfAborted();
        const rows = await findCounterRows(db, [ids]);
        return new Map(rows.map(({ content_id: id, ...counters }) => [BigInt(id), counters]));
      },
      async findLiked(ids, signal, { viewer }) {
        signal.throwIfAborted();
        const rows = viewer ? await findLikedRows(db, [viewer.userId, ids]) : [];
        return new Map(rows.map((row) => [BigInt(row.content_id), true]));
      },
    },
  };
}

const readContent = (row: ContentRow): ContentDetails => ({
  contentId: BigInt(row.id),
  authorId: BigInt(row.author_id),
  publishTime: Number(row.publish_time),
  text: row.text,
  media: (row.media as Partial<Media>[]).map(readMedia),
  visibility: row.visibility,
  repostOf: row.repost_of === null ? null : BigInt(row.repost_of),
});

/** Optional fields are stored as they were given. */
const readMedia = ({ url = '', kind = 'LINK', width, height, altText }: Partial<Media>): Media => ({
  url,
  kind,
  width: width ?? null,
  height: height ?? null,
  altText: altText ?? null,
});
