import type { FastifyReply, FastifyRequest } from 'fastify';
import { TidelineError } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import { errorBody } from '../http.js';
import type { VerifyIdentity } from '../identity.js';

const COOKIE = 'tideline_ops';
const READING = new Set(['GET', 'HEAD']);

export interface BoardAccess {
  /** Null without a good token. */
  readonly viewerOf: (request: Pick<FastifyRequest['raw'], 'headers'>) => Promise<Viewer | null>;
  /** An onRequest hook: lets in whoever has a good token, and lets only admins change anything. */
  readonly guard: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>;
}

/**
 * The token comes as a bearer token or, for a browser, once as `?token=`: it moves into a cookie that scripts cannot read
 * and other sites cannot send, and the address is left without it.
 */
export function createBoardAccess(verify: VerifyIdentity, path: string): BoardAccess {
  const viewerOf: BoardAccess['viewerOf'] = async ({ headers }) => {
    const cookie = cookieOf(headers.cookie);
    return verifyQuietly(verify, headers.authorization ?? (cookie && `Bearer ${cookie}`));
  };
  return {
    viewerOf,
    async guard(request, reply) {
      const { token } = request.query as { token?: unknown };
      if (typeof token === 'string' && (await verifyQuietly(verify, `Bearer ${token}`))) {
        return reply
          .header('set-cookie', `${COOKIE}=${token}; Path=${path}; HttpOnly; SameSite=Strict`)
          .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
          .redirect(path);
      }
      const viewer = await viewerOf(request.raw);
      if (!viewer) {
        const message = `Open ${path}?token=TOKEN, or send a bearer token. "npm run tideline -- token USER_ID --admin" makes one.`;
        return reply.code(401).header('www-authenticate', 'Bearer').send(errorBody('UNAUTHENTICATED', message));
      }
      if (!viewer.isAdmin && !READING.has(request.method)) {
        return reply.code(403).send(errorBody('FORBIDDEN', 'Only an admin may change jobs and queues.'));
      }
      return undefined;
    },
  };
}

async function verifyQuietly(verify: VerifyIdentity, authorization: string | undefined): Promise<Viewer | null> {
  try {
    return await verify(authorization);
  } catch (error) {
    if (error instanceof TidelineError) return null;
    throw error;
  }
}

const cookieOf = (header: string | undefined): string | undefined =>
  header
    ?.split(/; */)
    .find((pair) => pair.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1);
