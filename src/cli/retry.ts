import type { Command } from 'commander';
import type { App } from '../app.js';
import { parseId } from '../domain/ids.js';
import { retryFanout } from '../fanout/retry-fanout.js';
import { createWorkerDeps } from '../wiring/workers.js';
import { withServices } from './with-services.js';

export function addRetryCommand(program: Command): void {
  program
    .command('retry')
    .description('deliver the failed tasks of a post again')
    .argument('<content-id>', 'unsigned 64-bit integer in decimal')
    .action(async (text: string) => {
      const contentId = parseId(text, 'content-id');
      console.log(await withServices({ migrate: false }, ({ app }) => retry(app, contentId)));
    });
}

/** @throws Error for an unknown content, and while Redis is away: BullMQ would wait for it. */
async function retry(app: App, contentId: bigint): Promise<string> {
  await app.redis.ping();
  const { queues, deps } = createWorkerDeps(app);
  try {
    const report = await retryFanout({ ...deps, queues }, contentId);
    const name = `content ${contentId.toString()}`;
    if (!report) throw new Error(`There is no delivery of ${name}.`);
    if (report.isDone) return `Nothing is left to deliver of ${name}.`;
    return `${report.retried} failed ${report.retried === 1 ? 'task' : 'tasks'} of ${name} queued again.`;
  } finally {
    await queues.close();
  }
}
