import { badInput } from '../domain/errors.js';

/**
 * Trims; counts code points, so that an emoji is one.
 * @throws TidelineError BAD_USER_INPUT naming the field.
 */
export function readText(text: string, name: string, limits: { min: number; max: number }): string {
  const trimmed = text.trim();
  refuseNul(trimmed, name);
  const { length } = Array.from(trimmed);
  if (length > limits.max) throw badInput(`${name} must have at most ${limits.max} characters.`);
  if (length < limits.min) throw badInput(`${name} must not be empty.`);
  return trimmed;
}

/** Null when none was given. @throws TidelineError BAD_USER_INPUT unless it has 1 to 200 characters. */
export function readIdempotencyKey(key: string | null | undefined): string | null {
  if (key === null || key === undefined) return null;
  refuseNul(key, 'idempotencyKey');
  if (key.length < 1 || key.length > 200) throw badInput('idempotencyKey must have 1 to 200 characters.');
  return key;
}

/** Postgres cannot keep U+0000 in a text. */
export function refuseNul(text: string, name: string): void {
  if (text.includes('\0')) throw badInput(`${name} must not contain the character U+0000.`);
}
