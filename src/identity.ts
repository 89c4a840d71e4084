import { createSecretKey } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import type { Config } from './config.js';
import { TidelineError } from './domain/errors.js';
import { parseId } from './domain/ids.js';
import type { Viewer } from './domain/viewer.js';

/**
 * Who sends this Authorization header: null without one, the viewer of a good token.
 * A token that is bad in any way is never taken for a missing one.
 * @throws TidelineError UNAUTHENTICATED
 */
export type VerifyIdentity = (authorization: string | undefined) => Promise<Viewer | null>;

type Settings = Pick<Config, 'AUTH_JWT_SECRET' | 'isProduction'>;

const ALGORITHM = 'HS256';
const CLOCK_TOLERANCE_S = 5;

/**
 * The same check at the gateway, before it plans, and in each subgraph, which trusts nobody.
 * The algorithm is pinned: `none` and every other one are refused whatever the token's header says. A token must expire
 * in production; elsewhere one without `exp` is taken too, so that a hand-made token does for an experiment.
 */
export function createIdentityCheck(settings: Settings): VerifyIdentity {
  const key = keyOf(settings);
  const options = {
    algorithms: [ALGORITHM],
    clockTolerance: CLOCK_TOLERANCE_S,
    requiredClaims: settings.isProduction ? ['sub', 'exp'] : ['sub'],
  };
  return async (authorization) => {
    if (authorization === undefined) return null;
    const [, token] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
    if (!token) throw refusal('The Authorization header must be "Bearer TOKEN".');
    try {
      const { payload } = await jwtVerify(token, key, options);
      const { roles } = payload;
      return {
        userId: parseId(String(payload.sub), 'sub'),
        isAdmin: Array.isArray(roles) && roles.includes('admin'),
      };
    } catch (error) {
      throw refusal(isExpired(error) ? 'The token has expired.' : 'The token is not valid.', error);
    }
  };
}

/** A token as createIdentityCheck takes it. @param expiresIn as jose reads it: '2h', '30 days', or epoch seconds. */
export async function mintToken(
  settings: Pick<Settings, 'AUTH_JWT_SECRET'>,
  userId: bigint,
  { admin = false, expiresIn = '30 days' }: { admin?: boolean; expiresIn?: string | number } = {},
): Promise<string> {
  return new SignJWT(admin ? { roles: ['admin'] } : {})
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
    .setSubject(userId.toString())
    .setIssuedAt()
    .setExpirationTime(expiresIn)
    .sign(keyOf(settings));
}

const keyOf = (settings: Pick<Settings, 'AUTH_JWT_SECRET'>) => createSecretKey(settings.AUTH_JWT_SECRET, 'utf8');

const refusal = (message: string, cause?: unknown) => new TidelineError('UNAUTHENTICATED', message, { cause });

const isExpired = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ERR_JWT_EXPIRED';
