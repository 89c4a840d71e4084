import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import type { Entry, Walk } from '../../domain/entry.js';
import { begunHead, decodeHead, encodeFloor, encodeHead } from '../../domain/inbox-head.js';
import type { InboxPage, InboxStore } from './inbox-store.js';

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
  const scripts = Object.fromEntries(SCRIPT_NAMES.map((name) => [name, defineScript(redis, name)])) as Record<
    ScriptName,
    RunScript
  >;
  const keyIn = (bucket: number, userId: bigint): string =>
    `${deps.keyPrefix}:{i${String(bucket)}}:${kind}:${userId.toString()}`;
  const keyOf = (userId: bigint): string => keyIn(bucketOf(userId, deps.buckets), userId);

  /** The keys of one call share a hash tag: on a cluster they must lie in one slot. */
  function batchKeys(userIds: readonly bigint[]): string[][] {
    const byBucket = new Map<number, string[]>();
    for (const userId of userIds) {
      const bucket = bucketOf(userId, deps.buckets);
      const keys = byBucket.get(bucket);
      if (keys) keys.push(keyIn(bucket, userId));
      else byBucket.set(bucket, [keyIn(bucket, userId)]);
    }
    return [...byBucket.values()].flatMap((keys) => chunk(keys, KEYS_PER_CALL));
  }

  return {
    name: `redis-zset ${deps.keyPrefix} ${String(deps.buckets)}`,

    async insert(userIds, entry) {
      const batches = batchKeys(userIds);
      const args = [entry.publishTime, memberOf(entry.contentId), maxEntries];
      const present = await Promise.all(batches.map((keys) => scripts.insert(keys, args) as Promise<number>));
      const delivered = present.reduce((sum, n) => sum + n, 0);
      return { delivered, absent: userIds.length - delivered };
    },

    async read(userId, request) {
      return decodePage(await scripts.read([keyOf(userId)], readArgs(request)));
    },

    // All are written before the first answer is waited for: one round trip.
    readMany: async (reads) =>
      Promise.all(
        reads.map(async ({ userId, request }) => decodePage(await scripts.read([keyOf(userId)], readArgs(request)))),
      ),

    async begin(userId, nonce) {
      await scripts.begin([keyOf(userId)], [nonce, encodeHead(begunHead(nonce))]);
    },

    async fill(userId, nonce, fill) {
      const seqs = [fill.epoch, fill.followSeq, fill.activeSeq, fill.awakeSeq].map(String);
      const floors = [encodeFloor(fill.allFloor), encodeFloor(fill.activeFloor)];
      const entries = fill.entries.flatMap((entry) => [entry.publishTime, memberOf(entry.contentId)]);
      return (await scripts.fill([keyOf(userId)], [nonce, maxEntries, ...seqs, ...floors, ...entries])) === 1;
    },

    async remove(userId, contents, followSeq) {
      const members = contents.map((entry) => memberOf(entry.contentId));
      await scripts.remove([keyOf(userId)], [followSeq?.toString() ?? '', ...members]);
    },

    async drop(userIds) {
      for (const keys of batchKeys(userIds)) await redis.unlink(...keys);
    },
  };
}

/** About 100 keys a call keep page reads at p99 10 ms meanwhile; 1,000 block Redis for 14 ms (measured on Redis 7.0). */
const KEYS_PER_CALL = 100;

const SCRIPT_NAMES = ['insert', 'read', 'begin', 'fill', 'remove'] as const;
type ScriptName = (typeof SCRIPT_NAMES)[number];
type RunScript = (keys: string[], args: (string | number)[]) => Promise<unknown>;

const readScript = (name: string): string => readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');

/** EVALSHA, with EVAL when the server does not know the script yet. */
function defineScript(redis: Redis, name: ScriptName): RunScript {
  const command = `inboxZset_${name}`;
  redis.defineCommand(command, { lua: `${readScript('head')}\n${readScript(name)}` });
  const run = (redis as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>)[command];
  if (!run) throw new Error(`The script ${name} could not be defined.`);
  return (keys, args) => run.call(redis, keys.length, ...keys, ...args);
}

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

/** Spreads ids whose low bits are alike (Fibonacci hashing on 64 bits). */
const bucketOf = (userId: bigint, buckets: number): number =>
  Number(BigInt.asUintN(64, userId * 0x9e3779b97f4a7c15n) >> 48n) % buckets;

function chunk<T>(items: readonly T[], size: number): T[][] {
  const chunks: T[][] = [];
  for (let i = 0; i < items.length; i += size) chunks.push(items.slice(i, i + size));
  return chunks;
}
