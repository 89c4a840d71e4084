import { badInput } from './errors.js';

/** The greatest unsigned 64-bit integer. */
export const ID_MAX = 2n ** 64n - 1n;

/**
 * Reads an id at an edge: an unsigned 64-bit integer in decimal without sign, spaces or leading zeros.
 * Inside, ids are bigint: JavaScript and Lua numbers round above 2^53.
 * @throws TidelineError BAD_USER_INPUT naming `field` and what was given.
 */
export function parseId(text: string, field: string): bigint {
  if (!/^(0|[1-9]\d{0,19})$/.test(text)) throw badInput(`${field} must be an unsigned 64-bit integer in decimal`);
  const id = BigInt(text);
  if (id > ID_MAX) throw badInput(`${field} must be an unsigned 64-bit integer in decimal`);
  return id;
}

/** Global ids (Relay `Node.id`) are base64url of `Type:decimal`. */
export type NodeType = 'Content' | 'User' | 'Comment';

/** @example toGlobalId('Content', 5n) // 'Q29udGVudDo1' */
export const toGlobalId = (type: NodeType, id: bigint): string =>
  Buffer.from(`${type}:${id.toString()}`).toString('base64url');

/** Null when `globalId` was not made by toGlobalId. */
export function fromGlobalId(globalId: string): { type: NodeType; id: bigint } | null {
  const match = /^(Content|User|Comment):(0|[1-9]\d{0,19})$/.exec(
    Buffer.from(globalId, 'base64url').toString('latin1'),
  );
  if (!match) return null;
  const id = BigInt(match[2] as string);
  const type = match[1] as NodeType;
  return id <= ID_MAX && toGlobalId(type, id) === globalId ? { type, id } : null;
}
