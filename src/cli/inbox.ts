import type { Command } from 'commander';
import type { App } from '../app.js';
import { parseId } from '../domain/ids.js';
import { createInboxStore } from '../wiring/feed.js';
import { describeEntry, describeHead } from './describe-inbox.js';
import { withServices } from './with-services.js';

export function addInboxCommand(program: Command): void {
  program
    .command('inbox')
    .description("print a reader's inbox as the store (INBOX_STORE) holds it, newest entry first; 1 when there is none")
    .argument('<user-id>', 'unsigned 64-bit integer in decimal')
    .option('--json', 'for programs')
    .action(async (text: string, { json }: { json?: boolean }) => {
      const userId = parseId(text, 'user-id');
      console.log(await withServices({ migrate: false }, ({ app }) => printInbox(app, userId, json === true)));
    });
}

/** @throws Error when there is none */
async function printInbox(app: App, userId: bigint, isJson: boolean): Promise<string> {
  const inbox = createInboxStore(app);
  const limit = app.config.INBOX_MAX_ENTRIES;
  const { head, entries } = await inbox.read(userId, { from: null, direction: 'older', limit });
  if (!head) throw new Error(`User ${userId.toString()} has no inbox in ${inbox.name}: it is written when they read.`);
  if (isJson) return JSON.stringify({ store: inbox.name, head, entries }, idsAsText, 2);
  const title = `Inbox of user ${userId.toString()} in ${inbox.name}: ${String(entries.length)} entries`;
  return [title, ...describeHead(head), ...entries.map(describeEntry)].join('\n');
}

const idsAsText = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);
