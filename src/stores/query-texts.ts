import type { Redis } from 'ioredis';

/** Texts of operations by the SHA-256 of the text, so that clients can send the hash alone. */
export interface QueryTexts {
  /** Null when nobody has sent it lately. */
  get(hash: string): Promise<string | null>;
  /** Repeatable: a hash has one text. */
  set(hash: string, text: string): Promise<void>;
}

/** Kept for a day after it was last registered; clients register again what is gone. */
const KEPT_SECONDS = 24 * 60 * 60;

export const createQueryTexts = (redis: Redis, keyPrefix: string): QueryTexts => ({
  get: (hash) => redis.get(`${keyPrefix}:query:${hash}`),
  async set(hash, text) {
    await redis.set(`${keyPrefix}:query:${hash}`, text, 'EX', KEPT_SECONDS);
  },
});
