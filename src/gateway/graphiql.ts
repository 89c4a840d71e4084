import type { GatewayConfigBase } from '@graphql-hive/gateway-runtime';

type Options = Pick<GatewayConfigBase<Record<string, unknown>>, 'graphiql' | 'renderGraphiQL'>;

const DEFAULT_QUERY = `# A timeline belongs to a signed-in viewer. Headers tab:
# { "authorization": "Bearer TOKEN" }

query HomeTimeline {
  timelineFeed(first: 10) {
    edges {
      node {
        contentId
        text
        publishTime
        author {
          handle
          displayName
        }
        counters {
          likes
          comments
        }
        viewerHasLiked
      }
    }
    pageInfo {
      endCursor
      hasNextPage
    }
  }
}
`;

/**
 * The query editor of development, out of a package: the page loads nothing from elsewhere, so it works offline and no
 * foreign script sees a token. Production has none, and is installed without the package.
 * @param token put into the Headers tab, so that the first query works.
 */
export async function loadGraphiql(token?: string): Promise<Options> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  return {
    renderGraphiQL,
    graphiql: {
      title: 'Tideline',
      // Instead of Hive's; the title is beside it.
      logo: '',
      defaultQuery: DEFAULT_QUERY,
      defaultEditorToolsVisibility: 'headers',
      headers: JSON.stringify(token ? { authorization: `Bearer ${token}` } : {}, null, 2),
    },
  };
}
