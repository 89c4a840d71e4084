import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import { defaultHandle } from '../domain/handles.js';
import { ID_MAX } from '../domain/ids.js';
import { defineStatement, inTransaction, type Pool } from './database.js';

export interface GraphPlan {
  /** People to add, all seen now. */
  readonly users: number;
  /** Of these so many follow the first one; less than `users`. */
  readonly bigAccountFollowers: number;
  /** Epoch milliseconds. */
  readonly nowMs: number;
}

export interface GeneratedGraph {
  readonly bigAccount: bigint;
  /** Ordinary authors, from the first of each group: the rest of the group follows them. */
  readonly firstGroup: bigint;
  readonly groupSize: number;
  readonly users: number;
  readonly follows: number;
}

/** An ordinary author and 200 followers. */
export const GROUP_SIZE = 201;

/**
 * Adds people with new ids in one transaction, streamed through COPY: nothing is held in memory, and counts and seqs are
 * right from the start. The first is the big account; the others come in groups, of which the first is followed by the
 * rest. Repeating it adds other people.
 * @throws when somebody signs up with one of the ids meanwhile; nothing is added then.
 */
export function generateGraph(pool: Pool, plan: GraphPlan): Promise<GeneratedGraph> {
  return inTransaction(pool, async (client) => {
    await client.query('SET LOCAL statement_timeout = 0');
    const [row] = await selectGreatest(client, []);
    const first = BigInt(row?.id ?? 0) + 1n;
    if (first + BigInt(plan.users) > ID_MAX) throw new Error('There are not so many ids left.');
    const copy = (table: string, lines: Iterable<string>) =>
      pipeline(Readable.from(joinLines(lines)), client.query(copyFrom(`COPY ${table} FROM STDIN`)));
    await copy('users (id, handle, display_name, follower_count, following_count, follow_seq)', userLines(first, plan));
    await copy('activity (user_id, last_active_at)', activityLines(first, plan));
    await copy('follows (follower_id, followee_id, follow_seq)', followLines(first, plan));
    let follows = plan.bigAccountFollowers;
    for (let n = 1; n < plan.users; n += 1) follows += groupFolloweeOf(n) === null ? 0 : 1;
    return { bigAccount: first, firstGroup: first + 1n, groupSize: GROUP_SIZE, users: plan.users, follows };
  });
}

/** People are numbered from 0, the big account. */
const groupFolloweeOf = (n: number): number | null => ((n - 1) % GROUP_SIZE === 0 ? null : n - ((n - 1) % GROUP_SIZE));

function* followeesOf(n: number, plan: GraphPlan): Generator<number> {
  if (n === 0) return;
  if (n <= plan.bigAccountFollowers) yield 0;
  const author = groupFolloweeOf(n);
  if (author !== null) yield author;
}

function countFollowers(n: number, plan: GraphPlan): number {
  if (n === 0) return plan.bigAccountFollowers;
  return groupFolloweeOf(n) === null ? Math.min(GROUP_SIZE - 1, plan.users - 1 - n) : 0;
}

function* userLines(first: bigint, plan: GraphPlan): Generator<string> {
  for (let n = 0; n < plan.users; n += 1) {
    const id = first + BigInt(n);
    const name = defaultHandle(id);
    const following = [...followeesOf(n, plan)].length;
    yield [id, name, name, countFollowers(n, plan), following, following].join('\t');
  }
}

function* activityLines(first: bigint, plan: GraphPlan): Generator<string> {
  for (let n = 0; n < plan.users; n += 1) yield `${String(first + BigInt(n))}\t${String(plan.nowMs)}`;
}

function* followLines(first: bigint, plan: GraphPlan): Generator<string> {
  for (let n = 0; n < plan.users; n += 1) {
    let seq = 0;
    for (const followee of followeesOf(n, plan)) {
      seq += 1;
      yield [first + BigInt(n), first + BigInt(followee), seq].join('\t');
    }
  }
}

/** Lines that are sent at once. */
const CHUNK_LINES = 2_000;

function* joinLines(lines: Iterable<string>): Generator<string> {
  let chunk: string[] = [];
  for (const line of lines) {
    if (chunk.push(line) < CHUNK_LINES) continue;
    yield `${chunk.join('\n')}\n`;
    chunk = [];
  }
  if (chunk.length > 0) yield `${chunk.join('\n')}\n`;
}

const selectGreatest = defineStatement<{ id: string | null }>(
  'generate_greatest_id',
  'SELECT max(id) AS id FROM users',
);
