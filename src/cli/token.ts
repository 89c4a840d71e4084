import type { Command } from 'commander';
import { readEnvironment } from '../config.js';
import { badInput } from '../domain/errors.js';
import { parseId } from '../domain/ids.js';
import { mintToken } from '../identity.js';

export function addTokenCommand(program: Command): void {
  program
    .command('token')
    .description('print a token that signs in as a user, made with AUTH_JWT_SECRET')
    .argument('<user-id>', 'unsigned 64-bit integer in decimal')
    .option('--admin', 'with the role admin')
    .option('--expires <span>', 'from now: a number with s, m, h, d, w or y', '30d')
    .action(async (userId: string, options: { admin?: boolean; expires: string }) => {
      const { admin = false, expires: expiresIn } = options;
      if (!/^\d{1,6} ?[smhdwy]$/.test(expiresIn)) throw badInput('--expires must be a number with s, m, h, d, w or y');
      console.log(
        await mintToken(readEnvironment({ needsStores: false }), parseId(userId, 'user-id'), { admin, expiresIn }),
      );
    });
}
