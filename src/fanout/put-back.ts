import { DelayedError, type Job } from 'bullmq';
import { messageOf } from '../domain/errors.js';
import { UnknownJobError } from '../jobs/catalog.js';
import type { Logger } from '../log.js';
import { isDatabaseAway } from '../stores/database-away.js';
import { isRedisAway } from '../stores/redis-away.js';

/** Thrown by a handler whose job is to go back to the queue for so long. */
export class PutBackError extends Error {
  constructor(
    message: string,
    readonly pauseMs: number,
    /** False: it is part of the plan, and nobody needs to hear of it. */
    readonly isNews = true,
  ) {
    super(message);
  }
}

/** What is away is looked for again after this; another release takes a job that it knows within this. */
const AWAY_PAUSE_MS = 1_000;
const UNKNOWN_PAUSE_MS = 5_000;

/**
 * Runs a handler. What is not its job's fault (a store is away, another release has to do it, this process stops) puts the
 * job back without using up an attempt; everything else counts as one.
 * @throws DelayedError, which tells BullMQ that the job was moved.
 */
export async function puttingBack<T>(
  log: Pick<Logger, 'warn'>,
  job: Job,
  token: string | undefined,
  handle: () => Promise<T>,
): Promise<T> {
  try {
    return await handle();
  } catch (error) {
    const pauseMs = pauseOf(error);
    if (pauseMs === null) throw error;
    if (!(error instanceof PutBackError) || error.isNews) {
      log.warn({ error: messageOf(error), queue: job.queueName, jobId: job.id }, 'job put back');
    }
    // Due at once rather than moved to wait: that wakes whoever is idle.
    await job.moveToDelayed(Date.now() + pauseMs, token);
    throw new DelayedError();
  }
}

function pauseOf(error: unknown): number | null {
  if (error instanceof PutBackError) return error.pauseMs;
  if (error instanceof UnknownJobError) return UNKNOWN_PAUSE_MS;
  return isDatabaseAway(error) || isRedisAway(error) ? AWAY_PAUSE_MS : null;
}
