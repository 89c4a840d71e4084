import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openApp, type App } from '../../src/app.js';
import { PUSH_QUEUE } from '../../src/jobs/catalog.js';
import { openQueues, type Queues } from '../../src/jobs/queues.js';
import type { RunningServer } from '../../src/http.js';
import { startOperations } from '../../src/operations/server.js';
import { createTestDatabase, startTestRedis, type TestRedis } from '../harness/services.js';
import { createTestLog, testConfig, tokenFor } from '../harness/tiny-subgraphs.js';

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let redis: TestRedis;
let app: App;
let queues: Queues;
let server: RunningServer;
let admin: string;
let user: string;

beforeAll(async () => {
  [database, redis] = await Promise.all([createTestDatabase(), startTestRedis()]);
  const config = testConfig({ DATABASE_URL: database.databaseUrl, REDIS_URL: redis.redisUrl });
  app = await openApp(config, { name: 'operations-test', log: createTestLog().log });
  queues = openQueues(app.queueRedis, config.REDIS_KEY_PREFIX, () => undefined);
  await queues.pushTasks.add('push', { v: 1, contentId: '5', publishTime: 1, taskNo: 0, userIds: ['1'] });
  server = await startOperations({
    app,
    queues: [queues.contentEvents, queues.pushTasks],
    collect: () => Promise.resolve(),
    readyChecks: { redis: () => app.redis.ping() },
    port: 0,
  });
  [admin, user] = await Promise.all([tokenFor(1n, config, true), tokenFor(2n, config)]);
});
afterAll(async () => {
  await server.close();
  await queues.close();
  await app.close();
  await redis.stop();
  await database.drop();
});

const ask = (path: string, options: { method?: string; token?: string; headers?: Record<string, string> } = {}) => {
  const { method = 'GET', token, headers } = options;
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return fetch(`${server.url}${path}`, { redirect: 'manual', method, headers: { ...headers, ...authorization } });
};

interface Board {
  queues: { name: string; readOnlyMode: boolean; counts: Record<string, number> }[];
}
const boardOf = async (token: string) => (await (await ask('/queues/api/queues', { token })).json()) as Board;

describe('the dashboard', () => {
  test.each(['/queues', '/queues/', '/queues/api/queues', '/queues/queue/timeline_push', '/queues?token=bad'])(
    '%s is UNAUTHENTICATED without a good token',
    async (path) => {
      for (const token of [undefined, 'bad']) {
        const response = await ask(path, token === undefined ? {} : { token });
        expect(response.status).toBe(401);
        expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
      }
    },
  );

  test('an admin sees a board that can change things, anybody else with a token one that cannot', async () => {
    const forAdmin = await boardOf(admin);
    expect(forAdmin.queues.map(({ name, readOnlyMode }) => [name, readOnlyMode])).toEqual([
      ['event_content_meta_change', false],
      ['timeline_push', false],
    ]);
    expect(forAdmin.queues[1]?.counts).toMatchObject({ waiting: 1 });
    expect((await boardOf(user)).queues.every(({ readOnlyMode }) => readOnlyMode)).toBe(true);
  });

  test('a change is FORBIDDEN to anybody but an admin', async () => {
    const pause = (token: string) => ask(`/queues/api/queues/${PUSH_QUEUE}/pause`, { method: 'PUT', token });
    const refused = await pause(user);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'FORBIDDEN' } }] });
    expect(await queues.pushTasks.isPaused()).toBe(false);
    expect((await pause(admin)).status).toBe(200);
    expect(await queues.pushTasks.isPaused()).toBe(true);
    await queues.pushTasks.resume();
  });

  test('a browser brings the token once; it moves into a cookie that scripts and other sites cannot use', async () => {
    const first = await ask(`/queues?token=${admin}`);
    expect([first.status, first.headers.get('location')]).toEqual([302, '/queues']);
    const cookie = first.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    const page = await ask('/queues', { headers });
    expect(page.status).toBe(200);
    expect(await page.text()).toContain('Tideline');
    expect(page.headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(((await (await ask('/queues/api/queues', { headers })).json()) as Board).queues[0]?.readOnlyMode).toBe(
      false,
    );
  });

  test('what the page loads is there', async () => {
    const html = await (await ask('/queues', { token: user })).text();
    const [script] = /static\/js\/main[^"]+/.exec(html) ?? [];
    expect((await ask(`/queues/${script}`, { token: user })).status).toBe(200);
  });
});

describe('metrics and health', () => {
  test('metrics need no token, and count jobs when they are scraped', async () => {
    const text = await (await ask('/metrics')).text();
    expect(text).toContain('tideline_queue_jobs{queue="timeline_push",state="waiting"} 1');
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).toContain('tideline_page_seconds');
  });

  test('while Redis is away a scrape answers without the counts, and readiness names it', async () => {
    await redis.kill();
    const text = await (await ask('/metrics')).text();
    expect(text).toContain('process_cpu_seconds_total');
    expect(text).not.toContain('tideline_queue_jobs{');
    const ready = await ask('/health/ready');
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'not ready', checks: { redis: 'down' } }]);
    expect((await ask('/health/live')).status).toBe(200);
    await redis.restart();
  });
});
