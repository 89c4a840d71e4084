import { TidelineError } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import type { RequestContext } from './context.js';

/** @throws TidelineError UNAUTHENTICATED when the request carries no token. */
export function requireViewer({ viewer }: Pick<RequestContext, 'viewer'>): Viewer {
  if (!viewer) throw new TidelineError('UNAUTHENTICATED', 'Sign in to do this.');
  return viewer;
}
