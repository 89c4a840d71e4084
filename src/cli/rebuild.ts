import type { Command } from 'commander';
import type { App } from '../app.js';
import { parseId } from '../domain/ids.js';
import { rebuildInbox } from '../fanout/rebuild-inbox.js';
import { createInboxStore } from '../wiring/feed.js';
import { describeHead } from './describe-inbox.js';
import { withServices } from './with-services.js';

export function addRebuildCommand(program: Command): void {
  program
    .command('rebuild')
    .description("write a reader's inbox anew from the outboxes of those whom they follow")
    .argument('<user-id>', 'unsigned 64-bit integer in decimal')
    .action(async (text: string) => {
      const userId = parseId(text, 'user-id');
      console.log(await withServices({ migrate: false }, ({ app }) => rebuild(app, userId)));
    });
}

/** @throws Error when the inbox was not written */
async function rebuild(app: App, userId: bigint): Promise<string> {
  const { database, config } = app;
  const inbox = createInboxStore(app);
  const result = await rebuildInbox({ pool: database.pool, inbox, maxEntries: config.INBOX_MAX_ENTRIES }, userId);
  if (result !== 'filled')
    throw new Error(`The inbox of user ${userId.toString()} was not written: ${REASONS[result]}.`);
  const { head, entries } = await inbox.read(userId, {
    from: null,
    direction: 'older',
    limit: config.INBOX_MAX_ENTRIES,
  });
  const lines = [`The inbox of user ${userId.toString()} is written: ${entries.length} entries.`];
  if (head) lines.push(...describeHead(head));
  return lines.join('\n');
}

const REASONS = {
  busy: 'another process rebuilds it right now',
  superseded: 'it was lost, or begun by another process, meanwhile',
  unused: 'FEED_MODE or INBOX_STORE of the deployment are such that this inbox is not read',
};
