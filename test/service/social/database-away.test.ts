import { expect, it } from '@jest/globals';
import { createSocial } from '../../../src/social/create-social.js';
import { createIdGenerator } from '../../../src/social/id-generator.js';
import { openDatabase } from '../../../src/stores/database.js';
import { findFreePort } from '../../../src/embedded/private-files.js';
import { as, codeOf, openSocialWorld } from '../../harness/social.js';

it('answers SERVICE_UNAVAILABLE while Postgres cannot be reached', async () => {
  const url = `postgres://nobody@127.0.0.1:${await findFreePort()}/none`;
  const database = openDatabase({ url, poolSize: 2, onError: () => undefined });
  const { pool, prisma } = database;
  const clock = Date.now;
  const ids = createIdGenerator({ pool, clock, log: { warn: () => undefined } });
  const onContentChanged = () => undefined;
  const social = createSocial({
    pool,
    prisma,
    ids,
    clock,
    cursorKeys: ['key'],
    onContentChanged,
    onUserChanged: onContentChanged,
  });
  const codes = await Promise.all(
    [
      social.publishContent(as(1), { text: 'x' }),
      social.setFollow(as(1), 2n, true),
      social.findVisibleContents(null, [1n]),
      social.findUserByHandle('ann'),
      social.listOutboxPage(null, 1n, {}),
    ].map(codeOf),
  );
  expect(codes).toEqual(Array(5).fill('SERVICE_UNAVAILABLE'));
  await database.close();
});

it('answers SERVICE_UNAVAILABLE when its connection is ended in the middle, and goes on afterwards', async () => {
  const world = await openSocialWorld();
  await world.addUsers(1, 2);
  await world.rows('SELECT 1');
  const { pool } = world.database;
  const blocker = await pool.connect();
  await blocker.query('BEGIN; SELECT FROM users WHERE id = 2 FOR UPDATE');
  const waiting = codeOf(world.social.setFollow(as(1), 2n, true));
  const isWaiting = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  while ((await world.rows(isWaiting)).length === 0);
  expect(await waiting).toBe('SERVICE_UNAVAILABLE');
  await blocker.query('ROLLBACK');
  blocker.release();
  expect(await codeOf(world.social.setFollow(as(1), 2n, true))).toBe('none');
  expect(await world.rows('SELECT following_count AS n FROM users WHERE id = 1')).toEqual([{ n: 1 }]);
  await world.close();
});
