#!/usr/bin/env node
import { Command } from 'commander';
import { messageOf } from '../domain/errors.js';
import { addImportCommand } from './import.js';
import { addStatusCommand } from './status.js';
import { addTokenCommand } from './token.js';

const program = new Command('tideline').description('Commands on a Tideline installation.').showHelpAfterError();
for (const addCommand of [addImportCommand, addTokenCommand, addStatusCommand]) addCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  console.error(`tideline: ${messageOf(error)}`);
  process.exitCode = 1;
}
