import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { IncomingMessage } from 'node:http';
import type { Queue } from 'bullmq';
import type { FastifyInstance } from 'fastify';
import type { BoardAccess } from './board-access.js';

export const BOARD_PATH = '/queues';

type BoardKind = 'full' | 'readOnly';

/**
 * The page names a font host. The board does without, so that it opens offline and tells nobody that it was opened.
 * Its own styles are inline in places.
 */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'self'; frame-ancestors 'none'";

/** The routing constraint of boardStrategy(). */
const CONSTRAINT = 'board';

/**
 * BullMQ's dashboard twice under one path: whole for admins, without its buttons for everybody else with a token.
 * Which of the two answers is decided by a route constraint, given to each of a board's routes as it is added.
 */
export function serveBoards(app: FastifyInstance, queues: readonly Queue[], access: BoardAccess): void {
  for (const kind of ['full', 'readOnly'] as const) {
    const serverAdapter = new FastifyAdapter();
    serverAdapter.setBasePath(BOARD_PATH);
    createBullBoard({
      queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: kind === 'readOnly' })),
      serverAdapter,
      options: { uiConfig: { boardTitle: kind === 'full' ? 'Tideline' : 'Tideline (read only)' } },
    });
    void app.register(async (scope) => {
      scope.addHook('onRoute', (route) => {
        route.constraints = { ...route.constraints, [CONSTRAINT]: kind };
      });
      scope.addHook('onRequest', access.guard);
      scope.addHook('onRequest', async (_, reply) => {
        reply.header('content-security-policy', CONTENT_SECURITY_POLICY);
      });
      await scope.register(serverAdapter.registerPlugin(), { prefix: BOARD_PATH });
    });
  }
}

type Strategy = Parameters<FastifyInstance['addConstraintStrategy']>[0];

/** Added to the server before its routes. Without a good token it is the read-only board, whose guard refuses. */
export function boardStrategy(access: BoardAccess): Strategy {
  const strategy = {
    name: CONSTRAINT,
    storage: () => new Map<BoardKind, never>(),
    deriveConstraint(request: IncomingMessage, _: unknown, done: (error: Error | null, kind?: BoardKind) => void) {
      access.viewerOf(request).then((viewer) => {
        done(null, viewer?.isAdmin ? 'full' : 'readOnly');
      }, done);
    },
  };
  // The router takes a third parameter for the asynchronous form; its types do not know that form.
  return strategy as unknown as Strategy;
}
