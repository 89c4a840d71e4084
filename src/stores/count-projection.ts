import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { COUNTER_NAMES, type Counts, type VersionedCounts } from './counters.js';
import type { RedisIdentity } from './redis-identity.js';

/**
 * Contents' counts as Redis shows them: whole values with their version, each one text `version likes comments reposts
 * favorites` that redis-cli shows. What is not there is read from the authority and written here. Keys name the run of the
 * server: one that comes back, and may have lost what was written last, has none of them. They expire by themselves.
 */
export interface CountProjection {
  /** One round trip; what is not projected is absent. @throws when Redis does not answer, or another one does. */
  read(contentIds: readonly bigint[]): Promise<ReadonlyMap<bigint, VersionedCounts>>;
  /** Safe to repeat and in any order: the greater version stays. @throws as read */
  save(counts: ReadonlyMap<bigint, VersionedCounts>): Promise<void>;
  /** What is wrong is read anew by whoever asks next. @throws as read */
  forget(contentIds: readonly bigint[]): Promise<void>;
}

const TTL_SECONDS = 86_400;

/** Keys of one script call: it blocks Redis for less than a millisecond. */
const KEYS_PER_CALL = 500;

export function createCountProjection(deps: {
  redis: Redis;
  keyPrefix: string;
  identity: Pick<RedisIdentity, 'serverId'>;
}): CountProjection {
  const { redis, identity } = deps;
  const script = readFileSync(new URL('./lua/save-counts.lua', import.meta.url), 'utf8');
  redis.defineCommand('saveCounts', { lua: script });
  const scripts = redis as unknown as Record<'saveCounts', (...args: (string | number)[]) => Promise<unknown>>;

  // One hash tag: a page is one MGET, on a cluster too.
  const keyOf = (serverId: string, contentId: bigint): string =>
    `{${deps.keyPrefix}c}:counts:${serverId.slice(0, 12)}:${contentId.toString()}`;

  /** With the run id of the server that answered, before and after. */
  async function ask<T>(command: (serverId: string) => Promise<T>): Promise<T> {
    const serverId = await identity.serverId();
    const reply = await command(serverId);
    if ((await identity.serverId()) !== serverId) throw new Error('another Redis answers now');
    return reply;
  }

  return {
    async read(contentIds) {
      if (contentIds.length === 0) return new Map();
      const texts = await ask((serverId) => redis.mget(contentIds.map((id) => keyOf(serverId, id))));
      return new Map(
        contentIds.flatMap((id, i) => {
          const text = texts[i];
          return text ? [[id, decodeCounts(text)] as const] : [];
        }),
      );
    },
    async forget(contentIds) {
      if (contentIds.length === 0) return;
      await ask((serverId) => redis.unlink(contentIds.map((id) => keyOf(serverId, id))));
    },
    async save(counts) {
      const all = [...counts];
      for (let from = 0; from < all.length; from += KEYS_PER_CALL) {
        const part = all.slice(from, from + KEYS_PER_CALL);
        const args = part.flatMap(([, held]) => [held.version.toString(), encodeCounts(held)]);
        await ask((serverId) =>
          scripts.saveCounts(part.length, ...part.map(([id]) => keyOf(serverId, id)), TTL_SECONDS, ...args),
        );
      }
    },
  };
}

const encodeCounts = (counts: VersionedCounts): string =>
  [counts.version, ...COUNTER_NAMES.map((name) => counts[name])].join(' ');

function decodeCounts(text: string): VersionedCounts {
  const [version = '0', ...numbers] = text.split(' ');
  const counts = Object.fromEntries(COUNTER_NAMES.map((name, i) => [name, Number(numbers[i] ?? 0)])) as Counts;
  return { ...counts, version: BigInt(version) };
}
