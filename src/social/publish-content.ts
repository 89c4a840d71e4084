import { notFound } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import {
  findContentByKey,
  insertContent,
  isCountedRepost,
  lockAuthor,
  readVisibleContents,
  type Visibility,
} from '../stores/contents.js';
import { addToCounter } from '../stores/counters.js';
import { inTransaction, type Queryable } from '../stores/database.js';
import { appendEvent } from '../stores/events.js';
import { ensureUser } from '../stores/users.js';
import type { SocialDeps } from './deps.js';
import { readMedia, type MediaInput } from './validate-media.js';
import { readIdempotencyKey, readText } from './validate-text.js';

export interface PublishInput {
  readonly text: string;
  readonly media?: readonly MediaInput[] | null | undefined;
  readonly visibility?: Visibility | null | undefined;
  readonly repostOf?: bigint | null | undefined;
  readonly idempotencyKey?: string | null | undefined;
}

export interface Published {
  readonly contentId: bigint;
  /** Epoch milliseconds. */
  readonly publishTime: number;
}

const TEXT_LENGTH_MAX = 5000;

/**
 * Publishes as the viewer: the content, its place in the in-flight list and its event, in one transaction. Safe to
 * repeat with an idempotencyKey: the author's lock makes the second call find what the first wrote.
 * @throws TidelineError BAD_USER_INPUT; NOT_FOUND when the viewer may not see what is to be reposted.
 */
export async function publishContent(
  {
    pool,
    ids,
    clock,
    announce,
    onCountersChanged,
  }: Pick<SocialDeps, 'pool' | 'ids' | 'clock' | 'announce' | 'onCountersChanged'>,
  viewer: Viewer,
  input: PublishInput,
): Promise<Published> {
  const authorId = viewer.userId;
  const content = readInput(input);
  await ids.ready();
  const published = await inTransaction(pool, async (client) => {
    await ensureUser(client, authorId);
    await lockAuthor(client, authorId);
    if (content.idempotencyKey !== null) {
      const earlier = await findContentByKey(client, authorId, content.idempotencyKey);
      if (earlier) return earlier;
    }
    const repostOf = content.repostOf === null ? null : await findOriginal(client, content.repostOf, authorId, clock());
    const { id: contentId, timeMs: publishTime } = ids.next();
    await insertContent(client, { ...content, contentId, authorId, publishTime, repostOf });
    if (repostOf !== null && isCountedRepost({ ...content, repostOf }))
      await addToCounter(client, repostOf, 'reposts', 1);
    await appendEvent(client, { type: 'content.published', authorId, contentId });
    return { contentId, publishTime };
  });
  announce?.([{ kind: 'published', authorId, contentId: published.contentId }]);
  if (content.repostOf !== null) onCountersChanged?.();
  return published;
}

function readInput(input: PublishInput) {
  const media = readMedia(input.media);
  const repostOf = input.repostOf ?? null;
  const isTextOptional = media.length > 0 || repostOf !== null;
  return {
    text: readText(input.text, 'text', { min: isTextOptional ? 0 : 1, max: TEXT_LENGTH_MAX }),
    media,
    visibility: input.visibility ?? 'PUBLIC',
    repostOf,
    idempotencyKey: readIdempotencyKey(input.idempotencyKey),
  };
}

/** Reposting a pure repost reposts what it shows, so that counters and visibility hang on the original. */
async function findOriginal(db: Queryable, contentId: bigint, viewerId: bigint, nowMs: number): Promise<bigint> {
  const target = await findVisible(contentId);
  if (!target.isPureRepost || target.repostOf === null) return contentId;
  await findVisible(target.repostOf);
  return target.repostOf;

  async function findVisible(id: bigint) {
    const visible = (await readVisibleContents(db, [id], viewerId, nowMs)).get(id);
    if (!visible) throw notFound('There is no such content to repost.');
    return visible;
  }
}
