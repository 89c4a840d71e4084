import { decodeJwt } from 'jose';

/**
 * When the token of an Authorization header that was verified ends, in epoch milliseconds; null when it does not. A query
 * is over long before; what stays open must end with its token.
 */
export function expiryOf(authorization: string | undefined): number | null {
  const token = authorization?.trim().split(/ +/)[1];
  const exp = token === undefined ? undefined : decodeJwt(token).exp;
  return exp === undefined ? null : exp * 1000;
}
