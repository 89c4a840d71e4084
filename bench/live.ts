// `npm run bench -- live [--connections 1000] [--posts 8]`: open timelines (server-sent events) through one gateway process, each
// of another viewer who follows the same author. Measured is the time from the return of each publication to the message
// with the new count at each viewer, and the CPU of gateway and timeline subgraph for each message. Linux only.
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { openApp, type App } from '../src/app.js';
import { readConfig } from '../src/config.js';
import { mintToken } from '../src/identity.js';
import { prepareStores } from '../src/wiring/prepare-stores.js';
import { startPrivateServices } from '../test/load/private-services.js';
import { quantile, round } from './lib/numbers.js';
import { readCpuUs } from './lib/process-cpu.js';
import {
  createDeployment,
  postOperation,
  startRole,
  stopServices,
  type ServiceProcess,
} from './lib/service-process.js';

const { values: options } = parseArgs({
  options: { connections: { type: 'string', default: '1000' }, posts: { type: 'string', default: '8' } },
});
const connections = Number(options.connections);
const posts = Number(options.posts);
const AUTHOR = 1;
/** Longer than LIVE_INTERVAL_MS, so that no message waits for the one before. */
const BETWEEN_MS = 2_500;
/** How long a post may take to be told to all. */
const TOLD_MS = 30_000;
/** Opened at once. */
const OPENING = 50;

const LIVE = 'subscription Live { timelineUpdated { newerCount } }';
const PUBLISH = `mutation Publish { publishContent(input: { text: "now" }) { content { contentId } } }`;

const services = await startPrivateServices();
const processes: ServiceProcess[] = [];
const agent = new Agent({ keepAlive: false, maxSockets: Infinity });
let app: App | undefined;
try {
  console.log(JSON.stringify(await measure()));
} finally {
  agent.destroy();
  await stopServices(processes.map(({ child }) => child));
  await app?.close();
  await services.discard();
}

async function measure(): Promise<object> {
  const env = await createDeployment(services, 'live', { LOG_LEVEL: 'silent' });
  app = await openApp(readConfig(env), { name: 'live' });
  await prepareStores(app);
  await app.database.pool.query(
    `INSERT INTO users (id, handle, display_name) SELECT id, 'user_' || id, 'User ' || id FROM generate_series(1, $1::int + 1) id`,
    [connections],
  );
  await app.database.pool.query(
    `INSERT INTO follows (follower_id, followee_id, follow_seq) SELECT id, $2, 1 FROM generate_series(2, $1::int + 1) id`,
    [connections, AUTHOR],
  );
  await app.database.pool.query('UPDATE users SET follow_seq = 1, following_count = 1 WHERE id > 1');
  const start = async (...args: Parameters<typeof startRole>): Promise<ServiceProcess> => {
    const started = await startRole(...args);
    processes.push(started);
    return started;
  };
  const timeline = await start('timeline', env);
  const social = await start('social', env);
  await start('worker', env);
  const urls = { TIMELINE_URL: `${timeline.url}/graphql`, SOCIAL_URL: `${social.url}/graphql` };
  const gateway = await start('gateway', { ...env, ...urls });

  let onTold = (_: number): void => undefined;
  const openedAt = performance.now();
  for (let from = 0; from < connections; from += OPENING) {
    const some = Array.from({ length: Math.min(OPENING, connections - from) }, (_, i) => from + i + 2);
    await Promise.all(some.map((userId) => openTimeline(gateway.url, userId, (count) => onTold(count))));
  }
  const openedMs = performance.now() - openedAt;

  const cpu = () => [readCpuUs(gateway.pid), readCpuUs(timeline.pid)] as const;
  const before = cpu();
  const author = await mintToken(app.config, BigInt(AUTHOR));
  const tookMs: number[] = [];
  for (let post = 1; post <= posts; post += 1) {
    let told = 0;
    let publishedAt = Infinity;
    onTold = (count) => {
      if (count !== post) return;
      told += 1;
      tookMs.push(Math.max(0, performance.now() - publishedAt));
    };
    const answer = await postOperation(`${gateway.url}/graphql`, author, { query: PUBLISH, variables: {} });
    if (answer.includes('"errors"')) throw new Error(answer);
    publishedAt = performance.now();
    while (told < connections) {
      if (performance.now() - publishedAt > TOLD_MS) throw new Error(`post ${post}: told to ${told} of ${connections}`);
      await pause(5);
    }
    await pause(BETWEEN_MS);
  }
  const after = cpu();
  const messages = tookMs.length;
  return {
    connections,
    posts,
    openedMs: Math.round(openedMs),
    told: messages,
    toldWithinASecond: tookMs.filter((ms) => ms <= 1_000).length,
    p50Ms: round(quantile(tookMs, 0.5)),
    p99Ms: round(quantile(tookMs, 0.99)),
    maxMs: round(Math.max(...tookMs)),
    gatewayUsPerMessage: Math.round((after[0] - before[0]) / messages),
    timelineUsPerMessage: Math.round((after[1] - before[1]) / messages),
  };
}

/** Resolves with the first message, which every stream begins with. */
async function openTimeline(url: string, userId: number, onCount: (count: number) => void): Promise<void> {
  if (!app) throw new Error('not open');
  const token = await mintToken(app.config, BigInt(userId));
  const body = JSON.stringify({ query: LIVE });
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream', authorization: `Bearer ${token}` };
  await new Promise<void>((resolve, reject) => {
    request(`${url}/graphql`, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        const lines = text.split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) {
          const count = /"newerCount":(\d+)/.exec(line)?.[1];
          if (count === undefined) continue;
          resolve();
          onCount(Number(count));
        }
      });
      response.once('error', reject);
      response.once('end', () => reject(new Error(`the stream ended: ${response.statusCode} ${text}`)));
    })
      .once('error', reject)
      .end(body);
  });
}
