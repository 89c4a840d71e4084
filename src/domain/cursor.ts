import { createHmac, timingSafeEqual } from 'node:crypto';
import { PUBLISH_TIME_MAX, type Entry } from './entry.js';
import { invalidCursor } from './errors.js';

/**
 * A position in one viewer's feed. `position` counts the entries of the scroll down to and with this one, from 1; it
 * carries the depth limit, and the signature keeps it from being edited.
 */
export interface Cursor extends Entry {
  readonly position: number;
}

/** The first key signs; all are accepted, so that keys can be rotated. */
export type CursorKeys = readonly [string, ...string[]];

const VERSION = 1;
const BODY_BYTES = 1 + 6 + 8 + 4;
const MAC_BYTES = 12;

/**
 * Opaque base64url of version (1 byte), publishTime (6), contentId (8), position (4) and an HMAC-SHA256 truncated to
 * 12 bytes over these and the viewer's id (RFC 2104, section 5, on truncation). 42 characters. It does not expire.
 */
export function encodeCursor(cursor: Cursor, viewerId: bigint, keys: CursorKeys): string {
  const body = Buffer.alloc(BODY_BYTES);
  body.writeUInt8(VERSION, 0);
  body.writeUIntBE(cursor.publishTime, 1, 6);
  body.writeBigUInt64BE(cursor.contentId, 7);
  body.writeUInt32BE(cursor.position, 15);
  return Buffer.concat([body, signBody(body, viewerId, keys[0])]).toString('base64url');
}

/**
 * @throws TidelineError INVALID_CURSOR when the text is not one of this viewer's cursors: altered, of another viewer,
 *   signed with a key that is no longer accepted, or of an unknown version.
 */
export function decodeCursor(text: string, viewerId: bigint, keys: CursorKeys): Cursor {
  const bytes = Buffer.from(text, 'base64url');
  // Buffer skips what is not base64url; comparing the round trip refuses every second spelling of one cursor.
  if (bytes.length !== BODY_BYTES + MAC_BYTES || bytes.toString('base64url') !== text) throw refused();
  const body = bytes.subarray(0, BODY_BYTES);
  const mac = bytes.subarray(BODY_BYTES);
  if (body.readUInt8(0) !== VERSION) throw refused();
  if (!keys.some((key) => timingSafeEqual(mac, signBody(body, viewerId, key)))) throw refused();
  return {
    publishTime: Math.min(body.readUIntBE(1, 6), PUBLISH_TIME_MAX),
    contentId: body.readBigUInt64BE(7),
    position: body.readUInt32BE(15),
  };
}

function signBody(body: Buffer, viewerId: bigint, key: string): Buffer {
  return createHmac('sha256', key).update(body).update(viewerId.toString()).digest().subarray(0, MAC_BYTES);
}

const refused = () => invalidCursor('The cursor is not one that this feed gave to this viewer.');
