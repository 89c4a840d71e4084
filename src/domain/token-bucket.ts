/**
 * A bucket of points per viewer: full at first, refilled evenly, emptied by what operations cost. It lets bursts pass and
 * bounds what anybody may ask for in the long run.
 */
export interface BucketPolicy {
  /** Points in a full bucket. No operation may cost more, or it could never run. */
  readonly capacity: number;
  readonly refillPerSecond: number;
}

export interface Bucket {
  readonly points: number;
  /** When it held them, in epoch milliseconds. */
  readonly at: number;
}

/** How a request stands, as its headers tell it. */
export interface Allowance {
  readonly isAllowed: boolean;
  /** Points of a full bucket. */
  readonly limit: number;
  /** Whole points left. */
  readonly remaining: number;
  /** Seconds until the bucket is full again, rounded up. */
  readonly resetSeconds: number;
  /** Seconds until the same operation would be allowed, rounded up; 0 when it was. */
  readonly retryAfterSeconds: number;
}

/** A refused operation takes nothing. stores/lua/take-points.lua is the same rule inside Redis. */
export function takePoints(
  bucket: Bucket | undefined,
  cost: number,
  { capacity, refillPerSecond }: BucketPolicy,
  now: number,
): { readonly bucket: Bucket; readonly isAllowed: boolean } {
  const elapsedSeconds = bucket ? Math.max(0, now - bucket.at) / 1_000 : 0;
  const points = bucket ? Math.min(capacity, bucket.points + elapsedSeconds * refillPerSecond) : capacity;
  const isAllowed = points >= cost;
  return { bucket: { points: isAllowed ? points - cost : points, at: now }, isAllowed };
}

export function describeAllowance(
  isAllowed: boolean,
  points: number,
  cost: number,
  { capacity, refillPerSecond }: BucketPolicy,
): Allowance {
  const secondsUntil = (wanted: number) => Math.max(0, Math.ceil((wanted - points) / refillPerSecond));
  return {
    isAllowed,
    limit: capacity,
    remaining: Math.floor(points),
    resetSeconds: secondsUntil(capacity),
    retryAfterSeconds: isAllowed ? 0 : Math.max(1, secondsUntil(cost)),
  };
}
