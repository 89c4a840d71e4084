import { InvalidArgumentError, type Command } from 'commander';
import { generateGraph } from '../stores/generate-graph.js';
import { withServices } from './with-services.js';

const USERS_MAX = 20_000_000;

export function addGenerateCommand(program: Command): void {
  program
    .command('generate')
    .description('add made-up people, one of whom very many follow, to measure with')
    .requiredOption('--users <n>', 'people to add, in groups of an author and 200 followers', readCount)
    .option('--big-account <followers>', 'how many of them follow the first one', readCount, 0)
    .action(async ({ users, bigAccount: bigAccountFollowers }: { users: number; bigAccount: number }) => {
      if (bigAccountFollowers >= users) throw new Error('--big-account must be less than --users.');
      await withServices({ migrate: true }, async ({ app }) => {
        const plan = { users, bigAccountFollowers, nowMs: app.clock() };
        console.log(describe(await generateGraph(app.database.pool, plan), plan));
      });
    });
}

function readCount(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > USERS_MAX) {
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${String(USERS_MAX)}.`);
  }
  return number;
}

const describe = (
  graph: Awaited<ReturnType<typeof generateGraph>>,
  { bigAccountFollowers }: { bigAccountFollowers: number },
): string =>
  [
    `${String(graph.users)} people and ${String(graph.follows)} follows added.`,
    `  big account        ${String(graph.bigAccount)}, followed by ${String(bigAccountFollowers)}`,
    `  ordinary authors   ${String(graph.firstGroup)} and every ${String(graph.groupSize)}th after, followed by the ${String(graph.groupSize - 1)} behind them`,
  ].join('\n');
