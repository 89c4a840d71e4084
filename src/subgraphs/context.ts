import type { Viewer } from '../domain/viewer.js';
import type { Hydration } from '../feed/hydrate.js';

/** What resolvers of both subgraphs get, made anew for each request. */
export interface RequestContext {
  readonly viewer: Viewer | null;
  readonly requestId: string;
  /** Per-request loaders: a page costs one lookup per source. */
  readonly hydration: Hydration;
}
