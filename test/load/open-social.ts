import type { App } from '../../src/app.js';
import type { Viewer } from '../../src/domain/viewer.js';
import { createIdGenerator } from '../../src/social/id-generator.js';
import { createSocial, type Social } from '../../src/social/create-social.js';

/** The social commands of a process without caches. */
export function openSocial(app: App): Social {
  const { pool, prisma } = app.database;
  const ids = createIdGenerator({ pool, clock: app.clock, log: app.log });
  app.onClose(() => ids.close());
  const { cursorKeys } = app.config;
  const ignore = () => undefined;
  return createSocial({
    pool,
    prisma,
    ids,
    clock: app.clock,
    cursorKeys,
    onContentChanged: ignore,
    onUserChanged: ignore,
  });
}

export const as = (userId: bigint): Viewer => ({ userId, isAdmin: false });
