/** What the keys of a Redis store depend on. */
export interface KeySpace {
  readonly keyPrefix: string;
  /** Hash tags that keys are spread over. */
  readonly buckets: number;
  readonly kind: string;
}

export interface Keys {
  of(userId: bigint): string;
  /** Batches of at most `keysPerCall` keys that share a hash tag: on a cluster the keys of one call lie in one slot. */
  batch(userIds: readonly bigint[], keysPerCall: number): string[][];
}

/** One key per user, `PREFIX:{iBUCKET}:KIND:USER_ID`. */
export function createKeys({ keyPrefix, buckets, kind }: KeySpace): Keys {
  const stems = Array.from({ length: buckets }, (_, bucket) => `${keyPrefix}:{i${String(bucket)}}:${kind}:`);
  return {
    of: (userId) => (stems[bucketOf(userId, buckets)] as string) + userId.toString(),
    batch(userIds, keysPerCall) {
      const byBucket: string[][] = stems.map(() => []);
      for (const userId of userIds) {
        const bucket = bucketOf(userId, buckets);
        (byBucket[bucket] as string[]).push((stems[bucket] as string) + userId.toString());
      }
      return byBucket.flatMap((keys) => splitEvenly(keys, keysPerCall));
    },
  };
}

/** Spreads ids whose low bits are alike (Fibonacci hashing on 64 bits). */
const bucketOf = (userId: bigint, buckets: number): number =>
  Number(BigInt.asUintN(64, userId * 0x9e3779b97f4a7c15n) >> 48n) % buckets;

function splitEvenly(keys: string[], sizeMax: number): string[][] {
  if (keys.length === 0) return [];
  const parts = Math.ceil(keys.length / sizeMax);
  const size = Math.ceil(keys.length / parts);
  return Array.from({ length: parts }, (_, i) => keys.slice(i * size, (i + 1) * size));
}
