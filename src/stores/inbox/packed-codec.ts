import { comesBefore, type Direction, type Entry } from '../../domain/entry.js';
import type { InboxFill } from './inbox-store.js';
import type { InboxHead } from '../../domain/inbox-head.js';

// The bytes of lua/packed/head.lua, which tells the layout. All numbers are big-endian.

const RECENT_COUNT = 17;
const RECENT = 18;
const SEQS = 130;
const FLOORS = 162;
const NONCE = 207;
export const RECORD_BYTES = 14;
const FLOOR_BYTES = 15;
const NONCE_BYTES = 16;

/** An entry as a script takes it: its id in halves, because Lua's numbers end at 2^53. */
export const entryArgs = ({ publishTime, contentId }: Entry): number[] => [
  publishTime,
  Number(contentId >> 32n),
  Number(contentId & 0xffff_ffffn),
];

/** time48|id64 each, oldest first, each once. */
export function encodeRecords(entries: readonly Entry[]): Buffer {
  const bytes = Buffer.alloc(RECORD_BYTES * entries.length);
  entries.forEach(({ publishTime, contentId }, i) => {
    bytes.writeUIntBE(publishTime, i * RECORD_BYTES, 6);
    bytes.writeBigUInt64BE(contentId, i * RECORD_BYTES + 6);
  });
  return bytes;
}

/** Null when they do not ascend: the inbox is damaged. */
export function decodeRecords(bytes: Buffer, direction: Direction): Entry[] | null {
  const entries: Entry[] = [];
  for (let at = 0; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
    const entry = { publishTime: bytes.readUIntBE(at, 6), contentId: bytes.readBigUInt64BE(at + 6) };
    const before = entries.at(-1);
    if (before && !comesBefore(before, entry, 'newer')) return null;
    entries.push(entry);
  }
  return direction === 'older' ? entries.reverse() : entries;
}

/** 8 bytes each. */
export function encodeSeqs(...seqs: readonly bigint[]): Buffer {
  const bytes = Buffer.alloc(8 * seqs.length);
  seqs.forEach((seq, i) => bytes.writeBigUInt64BE(seq, 8 * i));
  return bytes;
}

/** A floor may stand above every entry, so its time has a byte more. */
export function encodeFloor({ publishTime, contentId }: Entry): Buffer {
  const bytes = Buffer.alloc(FLOOR_BYTES);
  bytes.writeUIntBE(Math.floor(publishTime / 2 ** 32), 0, 3);
  bytes.writeUInt32BE(publishTime % 2 ** 32, 3);
  bytes.writeBigUInt64BE(contentId, 7);
  return bytes;
}

/** @throws Error when it is longer than the head's field */
export function encodeNonce(nonce: string): Buffer {
  if (nonce.length > NONCE_BYTES) throw new Error(`a nonce has at most ${String(NONCE_BYTES)} digits`);
  return Buffer.concat([Buffer.from(nonce, 'latin1')], NONCE_BYTES);
}

export const seqsOf = ({ epoch, followSeq, activeSeq, awakeSeq }: Omit<InboxFill, 'entries'>): Buffer =>
  encodeSeqs(epoch, followSeq, activeSeq, awakeSeq);

/** Seqs, floors and nonce. */
export const encodeRest = (head: InboxHead): Buffer =>
  Buffer.concat([
    seqsOf(head),
    ...[head.allFloor, head.activeFloor, head.trimFloor].map(encodeFloor),
    encodeNonce(head.nonce),
  ]);

/** Null when it names no rebuild: the inbox is damaged. */
export function decodeHead(bytes: Buffer): InboxHead | null {
  const nonce = bytes.toString('latin1', NONCE, NONCE + NONCE_BYTES).replace(/\0+$/, '');
  if (!/^[0-9a-f]+$/.test(nonce)) return null;
  const seq = (i: number): bigint => bytes.readBigUInt64BE(SEQS + 8 * i);
  const floor = (i: number): Entry => decodeFloor(bytes, FLOORS + FLOOR_BYTES * i);
  return {
    epoch: seq(0),
    followSeq: seq(1),
    activeSeq: seq(2),
    awakeSeq: seq(3),
    allFloor: floor(0),
    activeFloor: floor(1),
    trimFloor: floor(2),
    nonce,
  };
}

/** The newest record; empty when there is none. */
export function lastOf(head: Buffer): Buffer {
  const end = RECENT + RECORD_BYTES * head.readUInt8(RECENT_COUNT);
  return head.subarray(Math.max(RECENT, end - RECORD_BYTES), end);
}

const decodeFloor = (bytes: Buffer, at: number): Entry => ({
  publishTime: bytes.readUIntBE(at, 3) * 2 ** 32 + bytes.readUInt32BE(at + 3),
  contentId: bytes.readBigUInt64BE(at + 7),
});
