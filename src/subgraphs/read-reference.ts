import { fromGlobalId, parseId, type NodeType } from '../domain/ids.js';

/**
 * The id inside an entity's key, as a gateway sends it: `id` (global), or `decimalField`. Null when malformed: its row of
 * `_entities` is null then, and the others are answered.
 */
export function readReference(type: NodeType, key: object, decimalField: string): bigint | null {
  const fields = key as Record<string, unknown>;
  const { id: globalId, [decimalField]: decimalId } = fields;
  if (typeof decimalId === 'string') {
    try {
      return parseId(decimalId, decimalField);
    } catch {
      return null;
    }
  }
  const named = typeof globalId === 'string' ? fromGlobalId(globalId) : null;
  return named?.type === type ? named.id : null;
}
