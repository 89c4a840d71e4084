import type { App } from '../app.js';
import type { RunningServer } from '../http.js';

/** A server that ends with the app. */
export async function closing(app: App, starting: Promise<RunningServer>): Promise<RunningServer> {
  const server = await starting;
  app.onClose(() => server.close());
  return server;
}
