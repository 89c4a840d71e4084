import DataLoader from 'dataloader';
import type { Social } from '../../social/create-social.js';
import type { StoredComment, UserCounts, VisibleContent } from '../../social/read-social.js';
import type { RequestContext } from '../context.js';

/** What one request asks of the social side, one round trip for all the ids of a tick. */
export interface SocialLoaders {
  /** Null when the viewer may not see it. */
  readonly visibleContents: DataLoader<bigint, VisibleContent | null>;
  /** Null when there is no such user. */
  readonly userCounts: DataLoader<bigint, UserCounts | null>;
  readonly follows: DataLoader<bigint, boolean>;
  /** Null when deleted, or under a content that the viewer may not see. */
  readonly comments: DataLoader<bigint, StoredComment | null>;
}

export interface LoadersByRequest {
  of(ctx: RequestContext): SocialLoaders;
  /** After a command: what the request loaded before it may be out of date. */
  forget(ctx: RequestContext): void;
}

export function createLoadersByRequest(social: Social): LoadersByRequest {
  const byRequest = new WeakMap<RequestContext, SocialLoaders>();
  return {
    of(ctx) {
      const known = byRequest.get(ctx);
      if (known) return known;
      const loaders = createLoaders(social, ctx);
      byRequest.set(ctx, loaders);
      return loaders;
    },
    forget(ctx) {
      byRequest.delete(ctx);
    },
  };
}

const BATCH_MAX = 1000;

const createLoaders = (social: Social, { viewer }: RequestContext): SocialLoaders => ({
  visibleContents: createLoader(async (ids) => social.findVisibleContents(viewer, ids)),
  userCounts: createLoader(async (ids) => social.findUserCounts(ids)),
  comments: createLoader(async (ids) => social.findComments(viewer, ids)),
  follows: new DataLoader<bigint, boolean>(
    async (ids) => {
      const followed = viewer ? await social.findFollowed(viewer, ids) : new Set();
      return ids.map((id) => followed.has(id));
    },
    { maxBatchSize: BATCH_MAX },
  ),
});

const createLoader = <V>(find: (ids: readonly bigint[]) => Promise<ReadonlyMap<bigint, V>>) =>
  new DataLoader<bigint, V | null>(
    async (ids) => {
      const found = await find(ids);
      return ids.map((id) => found.get(id) ?? null);
    },
    { maxBatchSize: BATCH_MAX },
  );
