import type { Redis } from 'ioredis';
import type { Entry, Walk } from '../../domain/entry.js';
import { begunHead, decodeHead, encodeFloor, encodeHead } from '../../domain/inbox-head.js';
import type { InboxPage, InboxStore } from './inbox-store.js';
import { createKeys } from './keys.js';
import { createLanes } from './lanes.js';
import { defineScripts } from './scripts.js';

/**
 * One sorted set per reader: score = publishTime, member = contentId as 20 zero-padded digits, so that byte order is
 * numeric order and redis-cli shows it; the head stands at rank 0 with score -1. 126 bytes an entry. Keys never expire.
 */
export interface ZsetInboxStore extends InboxStore {
  /** One page each of any number of inboxes, in one round trip and in order. */
  readMany(reads: readonly { readonly userId: bigint; readonly request: Walk }[]): Promise<InboxPage[]>;
}

/** @param kind `outbox`: the same sorted sets, one per author, project the outboxes of big accounts. */
export function createZsetInboxStore(deps: {
  redis: Redis;
  keyPrefix: string;
  maxEntries: number;
  buckets: number;
  kind?: 'inbox' | 'outbox';
}): ZsetInboxStore {
  const { redis, maxEntries, kind = 'inbox' } = deps;
  const scripts = defineScripts(redis, 'zset', ['insert', 'read', 'begin', 'fill', 'remove']);
  const keys = createKeys({ keyPrefix: deps.keyPrefix, buckets: deps.buckets, kind });
  const inLane = createLanes(CALLS_IN_FLIGHT);

  return {
    name: `redis-zset ${deps.keyPrefix} ${String(deps.buckets)}`,

    async insert(userIds, entry) {
      const args = [entry.publishTime, memberOf(entry.contentId), maxEntries];
      const calls = keys
        .batch(userIds, KEYS_PER_CALL)
        .map((batch) => inLane(() => scripts.insert(batch, args) as Promise<number>));
      const delivered = (await Promise.all(calls)).reduce((sum, n) => sum + n, 0);
      return { delivered, absent: userIds.length - delivered };
    },

    async read(userId, request) {
      return decodePage(await scripts.read([keys.of(userId)], readArgs(request)));
    },

    // All are written before the first answer is waited for: one round trip.
    readMany: async (reads) =>
      Promise.all(
        reads.map(async ({ userId, request }) => decodePage(await scripts.read([keys.of(userId)], readArgs(request)))),
      ),

    async begin(userId, nonce) {
      await scripts.begin([keys.of(userId)], [nonce, encodeHead(begunHead(nonce))]);
    },

    async fill(userId, nonce, fill) {
      const seqs = [fill.epoch, fill.followSeq, fill.activeSeq, fill.awakeSeq].map(String);
      const floors = [encodeFloor(fill.allFloor), encodeFloor(fill.activeFloor)];
      const entries = fill.entries.flatMap((entry) => [entry.publishTime, memberOf(entry.contentId)]);
      return (await scripts.fill([keys.of(userId)], [nonce, maxEntries, ...seqs, ...floors, ...entries])) === 1;
    },

    async remove(userId, contents, followSeq) {
      const members = contents.map((entry) => memberOf(entry.contentId));
      await scripts.remove([keys.of(userId)], [followSeq?.toString() ?? '', ...members]);
    },

    async drop(userIds) {
      for (const batch of keys.batch(userIds, KEYS_PER_CALL)) await redis.unlink(...batch);
    },
  };
}

/** About 100 keys a call keep page reads at p99 10 ms meanwhile; 1,000 block Redis for 14 ms (measured on Redis 7.0). */
const KEYS_PER_CALL = 100;

const CALLS_IN_FLIGHT = 2;

const readArgs = ({ from, direction, limit }: Walk): (string | number)[] => [
  direction,
  limit,
  ...(from ? [from.publishTime, memberOf(from.contentId)] : []),
];

function decodePage(reply: unknown): InboxPage {
  const [headText, ...flat] = reply as (string | null)[];
  const head = headText ? decodeHead(headText) : null;
  if (!head) return { head: null, entries: [] };
  const entries: Entry[] = [];
  for (let i = 0; i < flat.length; i += 2) {
    entries.push({ publishTime: Number(flat[i + 1]), contentId: BigInt(flat[i] as string) });
  }
  return { head, entries };
}

const memberOf = (contentId: bigint): string => contentId.toString().padStart(20, '0');
