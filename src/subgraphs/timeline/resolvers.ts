import DataLoader from 'dataloader';
import { parseId } from '../../domain/ids.js';
import { countNewer, readFeed, type FeedDeps } from '../../feed/feed.js';
import { findVisibleIds } from '../../feed/find-visible.js';
import { readFanout } from '../../feed/read-fanout.js';
import type { NewerReport } from '../../live/newer-posts.js';
import type { TimelineWatch } from '../../live/watch-timelines.js';
import type { RequestContext } from '../context.js';
import { readReference } from '../read-reference.js';
import { requireViewer } from '../require-viewer.js';
import { shareable } from '../shareable.js';
import type { Resolvers } from './generated.js';
import { prefetchContents } from './prefetch-contents.js';

/** Every field of schema/timeline.graphql. Thin: they read arguments, call the feed and hand on refs. */
export function createTimelineResolvers(feed: FeedDeps, live: Pick<TimelineWatch, 'watch'>): Resolvers {
  const visibleContents = createVisibleLoaders(feed);
  return {
    DateTime: shareable.DateTime,
    Node: { __resolveType: (node) => ('contentId' in node ? 'Content' : 'User') },
    Query: {
      timelineFeed: async (_, args, ctx) => readFeed(feed, requireViewer(ctx).userId, args),
      timelineNewer: async (_, { than, limit }, ctx) => countNewer(feed, requireViewer(ctx).userId, than, limit),
      fanout: async (_, { contentId }, ctx) =>
        readFanout(feed.pool, requireViewer(ctx), parseId(contentId, 'contentId')),
    },
    Subscription: {
      timelineUpdated: {
        subscribe: async (_, { since }, ctx) => live.watch(requireViewer(ctx).userId, since),
        resolve: (report: NewerReport) => report,
      },
    },
    TimelineConnection: {
      edges: async ({ edges }, _, ctx, info) => {
        await prefetchContents(idsOf(edges), ctx, info, ['node']);
        return [...edges];
      },
      nodes: async ({ edges }, _, ctx, info) => {
        await prefetchContents(idsOf(edges), ctx, info);
        return [...edges];
      },
      pageInfo: (page) => page,
    },
    TimelineEdge: { node: (edge) => edge },
    PageInfo: {
      hasNextPage: async (page) => page.hasNextPage(),
      hasPreviousPage: async (page) => page.hasPreviousPage(),
    },
    Fanout: { contentId: ({ contentId }) => contentId.toString() },
    Content: {
      ...shareable.Content,
      __resolveReference: async (key, ctx) => {
        const contentId = readReference('Content', key, 'contentId');
        return contentId !== null && (await visibleContents(ctx).load(contentId)) ? { contentId } : null;
      },
    },
    User: {
      ...shareable.User,
      __resolveReference: async (key, ctx) => {
        const userId = readReference('User', key, 'userId');
        return userId !== null && (await ctx.hydration.users.load(userId)) ? { userId } : null;
      },
    },
  };
}

const idsOf = (edges: readonly { contentId: bigint }[]): bigint[] => edges.map(({ contentId }) => contentId);

/** A reference from another subgraph is checked like anything else that a viewer asks for, all of a request at once. */
function createVisibleLoaders(feed: FeedDeps): (ctx: RequestContext) => DataLoader<bigint, boolean> {
  const byRequest = new WeakMap<RequestContext, DataLoader<bigint, boolean>>();
  return (ctx) => {
    let loader = byRequest.get(ctx);
    if (!loader) {
      loader = new DataLoader(async (ids) => {
        const visible = await findVisibleIds(feed, ctx.viewer, ids);
        return ids.map((id) => visible.has(id));
      });
      byRequest.set(ctx, loader);
    }
    return loader;
  };
}
