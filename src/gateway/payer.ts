import type { Viewer } from '../domain/viewer.js';

/**
 * Whose bucket an operation empties: the viewer's, or that of the address when nobody is signed in. Whoever has an IPv6
 * address has a whole /64 of them, so that counts as one.
 */
export const payerOf = (viewer: Viewer | null, ip: string): string =>
  viewer ? `u${viewer.userId}` : `ip${networkOf(ip)}`;

function networkOf(ip: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(ip)?.[1];
  if (mapped || !ip.includes(':')) return mapped ?? ip;
  const [head = '', tail] = ip.split('::');
  const left = head.split(':').filter(Boolean);
  const right = tail?.split(':').filter(Boolean) ?? [];
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => '0');
  return [...left, ...zeros, ...right].slice(0, 4).join(':');
}
