import type { Social } from '../../social/create-social.js';
import { shareable } from '../shareable.js';
import { createEntities } from './entities.js';
import { createNodeFinder, nodeTypeOf } from './find-nodes.js';
import type { Resolvers } from './generated.js';
import { createLoadersByRequest } from './loaders.js';
import { createMutations } from './mutations.js';
import { createQueries } from './queries.js';

export interface SocialResolversDeps {
  readonly social: Social;
}

/** Every field of schema/social.graphql. Thin: they read arguments, call the social side and hand on refs. */
export function createSocialResolvers({ social }: SocialResolversDeps): Resolvers {
  const loaders = createLoadersByRequest(social);
  const finder = createNodeFinder(loaders);
  return {
    DateTime: shareable.DateTime,
    Node: { __resolveType: nodeTypeOf },
    Query: createQueries(social, finder),
    Mutation: createMutations(social, loaders),
    ...createEntities(social, loaders, finder),
  };
}
