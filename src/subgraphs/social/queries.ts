import { badInput } from '../../domain/errors.js';
import { parseId } from '../../domain/ids.js';
import type { Social } from '../../social/create-social.js';
import { findNode, type NodeFinder } from './find-nodes.js';
import type { QueryResolvers } from './generated.js';

const NODES_MAX = 100;

export const createQueries = (social: Social, finder: NodeFinder): QueryResolvers => ({
  viewer: (_, __, { viewer }) => viewer && { userId: viewer.userId },
  node: async (_, { id }, ctx) => findNode(finder, id, ctx),
  nodes: async (_, { ids }, ctx) => {
    if (ids.length > NODES_MAX) throw badInput(`ids must have at most ${NODES_MAX} items.`);
    return Promise.all(ids.map(async (id) => findNode(finder, id, ctx)));
  },
  user: async (_, { userId, handle }, ctx) => {
    const isById = userId !== null && userId !== undefined;
    const isByHandle = handle !== null && handle !== undefined;
    if (isById === isByHandle) throw badInput('Pass either userId or handle.');
    if (isById) return finder.User(parseId(userId, 'userId'), ctx);
    const found = await social.findUserByHandle(handle as string);
    return found === null ? null : { userId: found };
  },
  content: async (_, { contentId }, ctx) => finder.Content(parseId(contentId, 'contentId'), ctx),
});
