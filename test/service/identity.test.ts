import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { SignJWT, UnsecuredJWT } from 'jose';
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
