/** Ids begin at 2020-01-01T00:00:00Z and last 69 years in 41 bits of milliseconds. */
export const SNOWFLAKE_EPOCH_MS = 1_577_836_800_000;
export const WORKER_ID_MAX = 1023;
const SEQUENCE_MAX = 4095;

export interface Snowflake {
  readonly id: bigint;
  /** The millisecond inside the id; a content's publishTime, so that ids and times sort alike. */
  readonly timeMs: number;
}

/** The state of one generator: the last millisecond it used and how many ids it gave out in it. */
export interface SnowflakeState {
  readonly lastTimeMs: number;
  readonly sequence: number;
}

/** A generator that goes on behind `lastTimeMs`, which somebody else may have filled. */
export const startAfter = (lastTimeMs: number): SnowflakeState => ({
  lastTimeMs: Math.max(lastTimeMs, SNOWFLAKE_EPOCH_MS),
  sequence: SEQUENCE_MAX,
});

/**
 * The next id: 41 bits of time, 10 of worker, 12 of sequence. Never repeats and never decreases: while the clock stands
 * behind `lastTimeMs` (it went backwards, or 4,096 ids were used in one millisecond) the generator counts on from there.
 */
export function nextSnowflake(state: SnowflakeState, nowMs: number, workerId: number): [Snowflake, SnowflakeState] {
  const next =
    nowMs > state.lastTimeMs
      ? { lastTimeMs: nowMs, sequence: 0 }
      : state.sequence < SEQUENCE_MAX
        ? { lastTimeMs: state.lastTimeMs, sequence: state.sequence + 1 }
        : { lastTimeMs: state.lastTimeMs + 1, sequence: 0 };
  const ticks = BigInt(next.lastTimeMs - SNOWFLAKE_EPOCH_MS);
  const id = (ticks << 22n) | (BigInt(workerId) << 12n) | BigInt(next.sequence);
  return [{ id, timeMs: next.lastTimeMs }, next];
}
