import { createSecretKey, type KeyObject } from 'node:crypto';
import { createRemoteJWKSet, errors, jwtVerify, SignJWT, type JWTVerifyGetKey, type JWTVerifyOptions } from 'jose';
import { LRUCache } from 'lru-cache';
import type { Config } from './config.js';
import { TidelineError, unavailable } from './domain/errors.js';
import { parseId } from './domain/ids.js';
import type { Viewer } from './domain/viewer.js';

/**
 * Who sends this Authorization header: null without one, the viewer of a good token.
 * A token that is bad in any way is never taken for a missing one.
 * @throws TidelineError UNAUTHENTICATED; SERVICE_UNAVAILABLE when the key server is away and no key of it is known
 */
export type VerifyIdentity = (authorization: string | undefined) => Promise<Viewer | null>;

type SecretSettings = Pick<Config, 'AUTH_JWT_SECRET' | 'AUTH_JWKS_URL' | 'AUTH_ISSUER' | 'AUTH_AUDIENCE'>;
type Settings = SecretSettings & Pick<Config, 'isProduction'>;

const CLOCK_TOLERANCE_S = 5;

/** Good tokens are remembered for so long: as long may a key that was withdrawn from the key server still be taken. */
const KNOWN_MS = 30_000;
const KNOWN_TOKENS = 10_000;

/**
 * The same check at the gateway, before it plans, and in each subgraph, which trusts nobody.
 * Algorithms are pinned by the kind of key: with a secret only HS256, with a key server only asymmetric ones, so that no
 * public key can be passed off as a secret and `none` is never taken. A token must expire in production; elsewhere one
 * without `exp` is taken too, so that a hand-made token does for an experiment.
 */
export function createIdentityCheck(settings: Settings): VerifyIdentity {
  const verify = createVerifier(settings, {
    clockTolerance: CLOCK_TOLERANCE_S,
    requiredClaims: settings.isProduction ? ['sub', 'exp'] : ['sub'],
    ...(settings.AUTH_ISSUER !== undefined && { issuer: settings.AUTH_ISSUER }),
    ...(settings.AUTH_AUDIENCE !== undefined && { audience: settings.AUTH_AUDIENCE }),
  });
  // Checking a signature takes a tenth of a page's CPU.
  const known = new LRUCache<string, { viewer: Viewer; expiresAtMs: number }>({ max: KNOWN_TOKENS, ttl: KNOWN_MS });
  return async (authorization) => {
    if (authorization === undefined) return null;
    const remembered = known.get(authorization);
    if (remembered && Date.now() < remembered.expiresAtMs) return remembered.viewer;
    const [, token] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
    if (!token) throw refusal('The Authorization header must be "Bearer TOKEN".');
    try {
      const { payload } = await verify(token);
      const { roles, exp } = payload;
      const viewer = {
        userId: parseId(String(payload.sub), 'sub'),
        isAdmin: Array.isArray(roles) && roles.includes('admin'),
      };
      known.set(authorization, {
        viewer,
        expiresAtMs: exp === undefined ? Infinity : 1_000 * (exp + CLOCK_TOLERANCE_S),
      });
      return viewer;
    } catch (error) {
      if (error instanceof KeyServerError) throw unavailable('Tokens cannot be checked at present.', error.cause);
      throw refusal(isExpired(error) ? 'The token has expired.' : 'The token is not valid.', error);
    }
  };
}

function createVerifier({ AUTH_JWKS_URL, ...settings }: Settings, options: JWTVerifyOptions) {
  if (AUTH_JWKS_URL) {
    const findKey = createKeyFinder(new URL(AUTH_JWKS_URL));
    return (token: string) => jwtVerify(token, findKey, { ...options, algorithms: ASYMMETRIC });
  }
  const key = keyOf(settings);
  return (token: string) => jwtVerify(token, key, { ...options, algorithms: [SECRET_ALGORITHM] });
}

const SECRET_ALGORITHM = 'HS256';
const ASYMMETRIC = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** Keys are looked at anew after the first time, and used without the key server up to the second. */
const KEYS_FRESH_MS = 10 * 60_000;
const KEYS_KEPT_MS = 60 * 60_000;
/** A token of an unknown key makes the keys be read again, so that a rotated key works at once, but not more often. */
const KEYS_AGAIN_MS = 30_000;
const KEY_SERVER_TIMEOUT_MS = 2_000;

/** Keys of a JWKS, kept here. While the key server is away known keys go on working, and no request waits for it. */
function createKeyFinder(url: URL): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(url, {
    cacheMaxAge: KEYS_KEPT_MS,
    cooldownDuration: KEYS_AGAIN_MS,
    timeoutDuration: KEY_SERVER_TIMEOUT_MS,
  });
  let lookedAt = Date.now();
  return async (header, token) => {
    if (keys.jwks() && Date.now() - lookedAt > KEYS_FRESH_MS) {
      lookedAt = Date.now();
      // One that fails is told by the first token that cannot be checked.
      keys.reload().catch(() => undefined);
    }
    try {
      return await keys(header, token);
    } catch (error) {
      throw isAboutToken(error) ? error : new KeyServerError('the key server', { cause: error });
    }
  };
}

class KeyServerError extends Error {}

const isAboutToken = (error: unknown) =>
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof errors.JWKSMultipleMatchingKeys ||
  error instanceof errors.JOSENotSupported;

/**
 * A token as createIdentityCheck takes it. @param expiresIn as jose reads it: '2h', '30 days', or epoch seconds.
 * @throws when tokens come from a key server
 */
export async function mintToken(
  settings: SecretSettings,
  userId: bigint,
  { admin = false, expiresIn = '30 days' }: { admin?: boolean; expiresIn?: string | number } = {},
): Promise<string> {
  if (settings.AUTH_JWKS_URL) throw new Error('AUTH_JWKS_URL is set: tokens are made by whoever has those keys.');
  const token = new SignJWT(admin ? { roles: ['admin'] } : {})
    .setProtectedHeader({ alg: SECRET_ALGORITHM, typ: 'JWT' })
    .setSubject(userId.toString())
    .setIssuedAt()
    .setExpirationTime(expiresIn);
  if (settings.AUTH_ISSUER !== undefined) token.setIssuer(settings.AUTH_ISSUER);
  if (settings.AUTH_AUDIENCE !== undefined) token.setAudience(settings.AUTH_AUDIENCE);
  return token.sign(keyOf(settings));
}

const keyOf = ({ AUTH_JWT_SECRET }: Pick<Settings, 'AUTH_JWT_SECRET'>): KeyObject =>
  createSecretKey(AUTH_JWT_SECRET, 'utf8');

const refusal = (message: string, cause?: unknown) => new TidelineError('UNAUTHENTICATED', message, { cause });

const isExpired = (error: unknown) => error instanceof errors.JWTExpired;
