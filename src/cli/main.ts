#!/usr/bin/env node
import { Command } from 'commander';
import { messageOf } from '../domain/errors.js';
import { addGenerateCommand } from './generate.js';
import { addImportCommand } from './import.js';
import { addInboxCommand } from './inbox.js';
import { addPublishOperationsCommand } from './publish-operations.js';
import { addRebuildCommand } from './rebuild.js';
import { addRetryCommand } from './retry.js';
import { addReconcileCommand } from './reconcile.js';
import { addStatusCommand } from './status.js';
import { addTokenCommand } from './token.js';
import { addVerifyCommand } from './verify.js';

const program = new Command('tideline').description('Commands on a Tideline installation.').showHelpAfterError();
const commands = [
  addImportCommand,
  addTokenCommand,
  addStatusCommand,
  addVerifyCommand,
  addRebuildCommand,
  addRetryCommand,
  addInboxCommand,
  addReconcileCommand,
  addPublishOperationsCommand,
  addGenerateCommand,
];
for (const addCommand of commands) addCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`tideline: ${messageOf(error)}`);
  process.exitCode = 1;
}
