import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { ID_MAX } from '../../src/domain/ids.js';
import { createIdentityCheck, mintToken } from '../../src/identity.js';

const settings = { AUTH_JWT_SECRET: 'a secret of this test only', isProduction: false };
const verify = createIdentityCheck(settings);
const key = new TextEncoder().encode(settings.AUTH_JWT_SECRET);
const sign = (payload: Record<string, unknown>, secret = key, alg = 'HS256') =>
  new SignJWT(payload).setProtectedHeader({ alg }).sign(secret);
const secondsFromNow = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

describe('identity', () => {
  test('no header is no viewer', async () => {
    expect(await verify(undefined)).toBeNull();
  });

  test('a minted token names its user, up to the greatest id, and admins', async () => {
    expect(await verify(`Bearer ${await mintToken(settings, ID_MAX)}`)).toEqual({ userId: ID_MAX, isAdmin: false });
    const admin = await mintToken(settings, 7n, { admin: true, expiresIn: '1 minute' });
    expect(await verify(`bearer ${admin}`)).toEqual({ userId: 7n, isAdmin: true });
  });

  test('a token without exp is taken in development and refused in production', async () => {
    const token = await sign({ sub: '5' });
    expect(await verify(`Bearer ${token}`)).toEqual({ userId: 5n, isAdmin: false });
    await expectRefused(createIdentityCheck({ ...settings, isProduction: true }), token);
  });

  test('a clock that is off by a few seconds does not matter', async () => {
    expect(await verify(`Bearer ${await sign({ sub: '5', exp: secondsFromNow(-3) })}`)).not.toBeNull();
  });

  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const exp = secondsFromNow(60);
  test.each<[string, () => Promise<string> | string]>([
    ['expired', () => sign({ sub: '5', exp: secondsFromNow(-60) })],
    ['not valid yet', () => sign({ sub: '5', exp, nbf: secondsFromNow(60) })],
    ['unsigned', () => new UnsecuredJWT({ sub: '5', exp }).encode()],
    [
      'signed with another secret',
      () => sign({ sub: '5', exp }, new TextEncoder().encode('another secret of this test')),
    ],
    ['signed with HS512', () => sign({ sub: '5', exp }, key, 'HS512')],
    ['signed with RS256', () => new SignJWT({ sub: '5', exp }).setProtectedHeader({ alg: 'RS256' }).sign(privateKey)],
    [
      'signed with a public key as the secret',
      () => sign({ sub: '5', exp }, Buffer.from(publicKey.export({ type: 'spki', format: 'pem' }))),
    ],
    ['altered', async () => (await sign({ sub: '5', exp })).replace(/\.[^.]+\./, `.${base64url({ sub: '6', exp })}.`)],
    ['without a subject', () => sign({ exp })],
    ['with a negative subject', () => sign({ sub: '-5', exp })],
    ['with a subject above 64 bits', () => sign({ sub: String(ID_MAX + 1n), exp })],
    ['with a name as its subject', () => sign({ sub: 'ann', exp })],
    ['no token at all', () => 'nonsense'],
    ['empty', () => ''],
  ])('a token that is %s is UNAUTHENTICATED, never anonymous', async (_, make) => {
    await expectRefused(verify, await make());
  });

  test('another scheme is UNAUTHENTICATED', async () => {
    await expect(verify('Basic YTpi')).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  });
});

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

async function expectRefused(check: typeof verify, token: string) {
  await expect(check(`Bearer ${token}`)).rejects.toMatchObject({ name: 'TidelineError', code: 'UNAUTHENTICATED' });
}

/** Only Date is faked: sockets go on. */
function passTime(milliseconds: number): void {
  const timers = [
    'setImmediate',
    'setInterval',
    'setTimeout',
    'clearImmediate',
    'clearInterval',
    'clearTimeout',
  ] as const;
  jest.useFakeTimers({
    doNotFake: [...timers, 'nextTick', 'queueMicrotask', 'hrtime', 'performance'],
    now: Date.now() + milliseconds,
  });
}

describe('a key server', () => {
  const keyOf = async (kid: string) => ({ kid, ...(await generateKeyPair('ES256', { extractable: true })) });
  const jwkOf = async ({ kid, publicKey }: Awaited<ReturnType<typeof keyOf>>) => ({
    ...(await exportJWK(publicKey)),
    kid,
    alg: 'ES256',
  });
  const signWith = ({ kid, privateKey }: Awaited<ReturnType<typeof keyOf>>, claims: Record<string, unknown> = {}) =>
    new SignJWT({ sub: '5', exp: secondsFromNow(60), ...claims })
      .setProtectedHeader({ alg: 'ES256', kid })
      .sign(privateKey);

  let server: http.Server;
  let jwksUrl: string;
  let served: { keys: object[] } | null;
  let asked: number;

  beforeEach(async () => {
    [served, asked] = [{ keys: [] }, 0];
    server = http
      .createServer((_, response) => {
        asked += 1;
        if (served) response.setHeader('content-type', 'application/json').end(JSON.stringify(served));
        else response.writeHead(500).end('no keys at 10.1.2.3');
      })
      .listen(0, '127.0.0.1');
    await once(server, 'listening');
    jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
  });
  afterEach(() => {
    jest.useRealTimers();
    server.closeAllConnections();
    server.close();
  });
  const check = (more = {}) => createIdentityCheck({ ...settings, AUTH_JWKS_URL: jwksUrl, ...more });

  test('its tokens name their users; the keys are asked for once', async () => {
    const key = await keyOf('one');
    served = { keys: [await jwkOf(key)] };
    const verifyByKeys = check();
    expect(await verifyByKeys(`Bearer ${await signWith(key, { roles: ['admin'] })}`)).toEqual({
      userId: 5n,
      isAdmin: true,
    });
    expect(await verifyByKeys(`Bearer ${await signWith(key, { sub: '6' })}`)).toEqual({ userId: 6n, isAdmin: false });
    expect(asked).toBe(1);
  });

  test('a rotated key works as soon as it signs, and floods of unknown keys do not reach the key server', async () => {
    const [old, next, unknown] = await Promise.all([keyOf('old'), keyOf('next'), keyOf('unknown')]);
    served = { keys: [await jwkOf(old)] };
    const verifyByKeys = check();
    await verifyByKeys(`Bearer ${await signWith(old)}`);
    served = { keys: [await jwkOf(old), await jwkOf(next)] };
    passTime(60_000);
    expect(await verifyByKeys(`Bearer ${await signWith(next)}`)).not.toBeNull();
    expect(await verifyByKeys(`Bearer ${await signWith(old)}`)).not.toBeNull();
    const before = asked;
    for (let i = 0; i < 20; i += 1) await expectRefused(verifyByKeys, await signWith(unknown));
    expect(asked).toBe(before);
  });

  test('a key that was taken away is refused once keys have been read again', async () => {
    const [old, next] = await Promise.all([keyOf('old'), keyOf('next')]);
    served = { keys: [await jwkOf(old)] };
    const verifyByKeys = check();
    await verifyByKeys(`Bearer ${await signWith(old)}`);
    served = { keys: [await jwkOf(next)] };
    passTime(2 * 60 * 60_000);
    await expectRefused(verifyByKeys, await signWith(old, { exp: secondsFromNow(60) }));
  });

  test('while it is away known keys go on working; without any it is SERVICE_UNAVAILABLE and names no address', async () => {
    const key = await keyOf('one');
    served = { keys: [await jwkOf(key)] };
    const verifyByKeys = check();
    await verifyByKeys(`Bearer ${await signWith(key)}`);
    served = null;
    passTime(30 * 60_000);
    expect(await verifyByKeys(`Bearer ${await signWith(key)}`)).not.toBeNull();
    const error = await check()(`Bearer ${await signWith(key)}`).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'SERVICE_UNAVAILABLE', message: 'Tokens cannot be checked at present.' });
  });

  test('neither the secret nor a public key used as one signs tokens then, and no symmetric key of the set does', async () => {
    const key = await keyOf('one');
    const jwk = await jwkOf(key);
    const symmetric = {
      kty: 'oct',
      kid: 'two',
      alg: 'HS256',
      k: Buffer.from(settings.AUTH_JWT_SECRET).toString('base64url'),
    };
    served = { keys: [jwk, symmetric] };
    const verifyByKeys = check();
    const pem = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
    const claims = { sub: '5', exp: secondsFromNow(60) };
    for (const secret of [Buffer.from(settings.AUTH_JWT_SECRET), Buffer.from(pem), Buffer.from(JSON.stringify(jwk))]) {
      for (const kid of ['one', 'two', undefined]) {
        const header = { alg: 'HS256', ...(kid && { kid }) };
        await expectRefused(verifyByKeys, await new SignJWT(claims).setProtectedHeader(header).sign(secret));
      }
    }
    await expectRefused(verifyByKeys, new UnsecuredJWT(claims).encode());
  });

  test('issuer and audience are checked when they are set', async () => {
    const key = await keyOf('one');
    served = { keys: [await jwkOf(key)] };
    const strict = check({ AUTH_ISSUER: 'https://id.example', AUTH_AUDIENCE: 'tideline' });
    expect(
      await strict(`Bearer ${await signWith(key, { iss: 'https://id.example', aud: 'tideline' })}`),
    ).not.toBeNull();
    await expectRefused(strict, await signWith(key, { iss: 'https://evil.example', aud: 'tideline' }));
    await expectRefused(strict, await signWith(key, { iss: 'https://id.example', aud: 'another service' }));
    await expectRefused(strict, await signWith(key));
  });

  test('tokens are not minted beside it', async () => {
    await expect(mintToken({ ...settings, AUTH_JWKS_URL: jwksUrl }, 1n)).rejects.toThrow('AUTH_JWKS_URL');
  });
});
