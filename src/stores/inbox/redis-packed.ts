import type { Redis } from 'ioredis';
import { compareEntries, newestOf, type Walk } from '../../domain/entry.js';
import { begunHead } from '../../domain/inbox-head.js';
import type { InboxPage, InboxStore } from './inbox-store.js';
import { createKeys } from './keys.js';
import { createLanes } from './lanes.js';
import {
  decodeHead,
  decodeRecords,
  encodeFloor,
  encodeNonce,
  encodeRecords,
  encodeRest,
  encodeSeqs,
  entryArgs,
  lastOf,
  RECORD_BYTES,
  seqsOf,
} from './packed-codec.js';
import { defineScripts } from './scripts.js';

/**
 * One string per reader: a head of 223 bytes, then 14 bytes an entry (lua/packed/head.lua). Keys never expire.
 * A value that is damaged or none of ours counts as missing, is replaced by the next rebuild, and is told to `onDamaged`.
 */
export function createPackedInboxStore(deps: {
  redis: Redis;
  keyPrefix: string;
  maxEntries: number;
  buckets: number;
  onDamaged?: (count: number) => void;
  keysPerCall?: number;
  callsInFlight?: number;
}): InboxStore {
  const { redis, maxEntries, keyPrefix, buckets, onDamaged = () => undefined } = deps;
  const { keysPerCall = KEYS_PER_CALL, callsInFlight = CALLS_IN_FLIGHT } = deps;
  const scripts = defineScripts(redis, 'packed', ['insert', 'read', 'begin', 'fill', 'remove']);
  const keys = createKeys({ keyPrefix, buckets, kind: 'inbox' });
  const inLane = createLanes(callsInFlight);

  function decodePage(reply: unknown, { from, direction }: Walk): InboxPage {
    if (reply === 0) return NO_INBOX;
    const page = Array.isArray(reply) ? decodeInbox(reply as Buffer[], direction, from === null) : null;
    if (!page) onDamaged(1);
    return page ?? NO_INBOX;
  }

  return {
    name: `redis-packed ${keyPrefix} ${String(buckets)}`,

    async insert(userIds, entry) {
      const args = [...entryArgs(entry), maxEntries];
      const calls = keys
        .batch(userIds, keysPerCall)
        .map((batch) => inLane(() => scripts.insert(batch, args) as Promise<[number, number]>));
      let delivered = 0;
      for (const [present, damaged] of await Promise.all(calls)) {
        delivered += present;
        if (damaged > 0) onDamaged(damaged);
      }
      return { delivered, absent: userIds.length - delivered };
    },

    async read(userId, walk) {
      const { from, direction, limit } = walk;
      const args = [direction, limit, ...(from ? entryArgs(from) : [])];
      return decodePage(await scripts.read.bytes([keys.of(userId)], args), walk);
    },

    async begin(userId, nonce) {
      await scripts.begin([keys.of(userId)], [encodeNonce(nonce), encodeRest(begunHead(nonce))]);
    },

    async fill(userId, nonce, fill) {
      const floors = [encodeFloor(fill.allFloor), encodeFloor(fill.activeFloor)];
      const records = encodeRecords([...fill.entries].sort((a, b) => compareEntries(b, a)));
      const args = [encodeNonce(nonce), maxEntries, seqsOf(fill), ...floors, records];
      return (await scripts.fill([keys.of(userId)], args)) === 1;
    },

    async remove(userId, contents, followSeq) {
      const args = contents.flatMap(entryArgs);
      const guard = followSeq === null ? '' : encodeSeqs(followSeq);
      if ((await scripts.remove([keys.of(userId)], [guard, ...args])) === 1) onDamaged(1);
    },

    async drop(userIds) {
      for (const batch of keys.batch(userIds, keysPerCall)) await redis.unlink(...batch);
    },
  };
}

const KEYS_PER_CALL = 100;
const CALLS_IN_FLIGHT = 2;

const NO_INBOX: InboxPage = { head: null, entries: [] };

/** Null when the parts contradict each other. */
function decodeInbox([headBytes, records, oldest]: Buffer[], direction: Walk['direction'], isFirst: boolean) {
  if (!headBytes || !records || !oldest) return null;
  const stored = decodeHead(headBytes);
  const entries = decodeRecords(records, direction);
  if (!stored || !entries) return null;
  if (isFirst && records.length > 0 && !records.subarray(-RECORD_BYTES).equals(lastOf(headBytes))) return null;
  const [floor] = decodeRecords(oldest, 'older') ?? [];
  if (!floor) return { head: stored, entries };
  const [allFloor, activeFloor, trimFloor] = [stored.allFloor, stored.activeFloor, stored.trimFloor].map((it) =>
    newestOf(it, floor),
  ) as [typeof floor, typeof floor, typeof floor];
  return { head: { ...stored, allFloor, activeFloor, trimFloor }, entries };
}
