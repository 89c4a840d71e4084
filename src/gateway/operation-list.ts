import { z } from 'zod';
import { hashOf } from './persisted-operations.js';

/** The operations that a gateway answers, as JSON: SHA-256 in hex -> text. Relay's `persistConfig.file` has this form too. */
export type OperationList = ReadonlyMap<string, string>;

const shape = z.record(z.string().regex(/^[\da-f]{64}$/, 'must be a SHA-256 in hex'), z.string().min(1));

/** @throws when the text is no list, or a hash is not that of its text */
export function parseOperationList(text: string): OperationList {
  const list = new Map(Object.entries(shape.parse(JSON.parse(text))));
  for (const [hash, operation] of list) {
    if (hashOf(operation) !== hash) throw new Error(`The list of operations holds another text under ${hash}.`);
  }
  return list;
}

/** Sorted, so that two publications of the same operations give the same file. */
export const printOperationList = (texts: Iterable<string>): string => {
  const entries = [...texts].map((text) => [hashOf(text), text] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`;
};
