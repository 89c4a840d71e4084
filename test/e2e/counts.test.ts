import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { follow, startStack, user, type Stack } from '../harness/stack.js';

const READER = '1';
const AUTHOR = '2';
const PEOPLE = ['3', '4', '5', '6'] as const;

let stack: Stack;
let contentId: string;
beforeAll(async () => {
  stack = await startStack({ COUNTER_INTERVAL_MS: '50', REDIS_TIMEOUT_MS: '300', SOURCE_TIMEOUT_MS: '5000' });
  await stack.importAll([READER, AUTHOR, ...PEOPLE].map((id) => user(id)));
  await stack.importAll([follow(READER, AUTHOR)]);
  const { publishContent } = await stack.ask(
    AUTHOR,
    'mutation { publishContent(input: { text: "post" }) { content { contentId } } }',
  );
  contentId = publishContent.content.contentId;
  await stack.drain();
});
afterAll(() => stack.close());

const like = (userId: string, active = true) =>
  stack.ask(
    userId,
    `mutation ($input: SetReactionInput!) {
       setReaction(input: $input) { active content { viewerHasLiked counters { likes } } } }`,
    { input: { contentId, kind: 'LIKE', active } },
  );
const comment = (userId: string, text: string) =>
  stack.ask(userId, `mutation ($input: AddCommentInput!) { addComment(input: $input) { comment { commentId } } }`, {
    input: { contentId, text },
  });

/** On the reader's timeline, where counts come from their projection. */
const countsInFeed = async () =>
  (
    await stack.ask(
      READER,
      '{ timelineFeed(first: 1) { edges { node { counters { likes comments reposts favorites } } } } }',
    )
  ).timelineFeed.edges[0].node.counters;

const likersAndComments = async () => {
  const { content } = await stack.ask(
    READER,
    `query ($id: ID!) { content(contentId: $id) {
       likers { edges { node { userId } } } comments { edges { node { text } } } counters { likes comments } } }`,
    { id: contentId },
  );
  return {
    likers: content.likers.edges.map((edge: { node: { userId: string } }) => edge.node.userId),
    comments: content.comments.edges.map((edge: { node: { text: string } }) => edge.node.text),
    counters: content.counters,
  };
};

test('who likes sees the count of now, and timelines see it once it is projected', async () => {
  expect((await like('3')).setReaction).toEqual({
    active: true,
    content: { viewerHasLiked: true, counters: { likes: 1 } },
  });
  expect((await like('4')).setReaction.content.counters).toEqual({ likes: 2 });
  await comment('3', 'first');
  await stack.drain();
  expect(await countsInFeed()).toEqual({ likes: 2, comments: 1, reposts: 0, favorites: 0 });
});

describe('Redis is killed', () => {
  test('no like, comment or count is lost, and the projection is right afterwards without a manual step', async () => {
    await stack.redis.kill();
    await like('5');
    await like('3', false);
    await comment('4', 'second');
    const counts = { likes: 2, comments: 2 };
    expect(await countsInFeed()).toMatchObject(counts);
    expect(await likersAndComments()).toEqual({ likers: ['5', '4'], comments: ['second', 'first'], counters: counts });
    await stack.redis.restart(true);
    await stack.drain();
    expect(await countsInFeed()).toMatchObject(counts);
    await like('6');
    await stack.drain();
    expect(await countsInFeed()).toMatchObject({ likes: 3, comments: 2 });
    expect(await likersAndComments()).toMatchObject({ likers: ['6', '5', '4'], comments: ['second', 'first'] });
  });

  test('and comes back empty', async () => {
    await stack.redis.kill();
    await stack.redis.restart(false);
    await stack.drain();
    expect(await countsInFeed()).toMatchObject({ likes: 3, comments: 2 });
    expect(await likersAndComments()).toMatchObject({ comments: ['second', 'first'] });
  });
});

const metric = async (name: string): Promise<number> => {
  const metrics = await (await fetch(`${stack.running.operations.url}/metrics`)).text();
  return Number(new RegExp(`^${name.replace(/[{}]/g, '\\$&')} (\\S+)$`, 'm').exec(metrics)?.[1]);
};

test('the operations port tells the lag of the projection', async () => {
  await stack.drain();
  expect(await metric('tideline_counter_projection_lag_seconds')).toBe(0);
  expect(await metric('tideline_counter_projection_backlog')).toBe(0);
});

describe('counts that do not add up', () => {
  const spoil = async () => {
    const { pool } = stack.app.database;
    await pool.query('UPDATE content_counters SET likes = likes + 7 WHERE content_id = $1', [contentId]);
    await pool.query('UPDATE users SET following_count = 9 WHERE id = $1', [READER]);
  };
  const reconcile = (...options: string[]) => {
    const args = ['--import', './scripts/lib/register-typescript.mjs', 'src/cli/main.ts', 'reconcile', ...options];
    const env = { ...process.env, NODE_OPTIONS: '', ...stack.environment };
    return new Promise<{ code: number; said: string }>((resolve) => {
      execFile(process.execPath, args, { env }, (error, stdout) =>
        resolve({ code: Number(error?.code ?? 0), said: stdout }),
      );
    });
  };

  test('`tideline reconcile --check` tells them and exits with 1, `tideline reconcile` sets them right', async () => {
    await spoil();
    const found = await reconcile('--check');
    expect(found.code).toBe(1);
    expect(found.said).toContain(`content ${contentId}: likes 10, counted 3`);
    expect(found.said).toContain(`user ${READER}: followers 0, counted 0; following 9, counted 1`);
    expect((await reconcile()).said).toContain('1 counts, 0 projections and the follows of 1 users set right.');
    await stack.drain();
    expect(await countsInFeed()).toMatchObject({ likes: 3 });
  });

  test('are set right by the maintenance worker, which counts them', async () => {
    await stack.restart({ RECONCILE_INTERVAL_MS: '50' });
    await spoil();
    const isDone = async () =>
      (await metric('tideline_reconcile_differences_total{kind="likes"}')) === 1 &&
      (await metric('tideline_reconcile_differences_total{kind="follows"}')) === 1;
    for (let tries = 0; tries < 400 && !(await isDone()); tries += 1) await pause(25);
    expect(await isDone()).toBe(true);
    await stack.drain();
    expect(await countsInFeed()).toMatchObject({ likes: 3 });
    expect(await metric('tideline_reconcile_contents_total')).toBeGreaterThan(0);
  });
});
