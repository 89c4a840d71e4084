import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findFreePort } from '../../src/embedded/private-files.js';
import { untilSaid } from '../harness/stack.js';
import { postGraphql } from '../harness/tiny-subgraphs.js';

// `npm start` as a process: what it prints, what it keeps, and what it leaves behind. The tests are steps of one story.

const root = process.cwd();
const PORTS = ['GATEWAY_PORT', 'TIMELINE_PORT', 'SOCIAL_PORT', 'OPS_PORT'];
const STOP_MS = 10_000;

let dataDir: string;
let ports: Record<string, string>;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: root, stdio: 'ignore', env: childEnvironment() });
  // Under the folder of the run, whose end also ends servers that a killed start has left.
  dataDir = mkdtempSync(path.join(process.env['TIDELINE_TEST_DIR'] ?? '', 'servers', 'start-'));
  chmodSync(dataDir, 0o755);
  // A redis-server that was unpacked once is not downloaded again.
  const cache = path.join(root, '.data', 'cache');
  if (existsSync(cache)) symlinkSync(cache, path.join(dataDir, 'cache'));
  ports = {};
  for (const name of PORTS) ports[name] = String(await findFreePort());
}, 180_000);
afterAll(async () => {
  for (const child of children) await stop(child, 'SIGTERM');
});

function childEnvironment(): NodeJS.ProcessEnv {
  const env = { ...process.env, NODE_OPTIONS: '' };
  for (const name of ['NODE_ENV', 'JEST_WORKER_ID', 'DATABASE_URL', 'REDIS_URL']) Reflect.deleteProperty(env, name);
  return env;
}

function start(settings: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, ['--enable-source-maps', 'dist/src/main.js'], {
    cwd: root,
    env: { ...childEnvironment(), TIDELINE_DATA_DIR: dataDir, ...ports, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** A start that is expected to fail: its exit code and all that it said. */
async function runToEnd(child: ChildProcess): Promise<{ code: number | null; text: string }> {
  let text = '';
  const listen = (chunk: Buffer): void => void (text += String(chunk));
  child.stdout?.on('data', listen);
  child.stderr?.on('data', listen);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = once(child, 'exit');
  child.kill(signal);
  return ((await ended) as [number | null])[0];
}

/** Command lines of processes that name the data folder. */
function listProcesses(): string[] {
  if (!existsSync('/proc/self/cmdline')) {
    const all = execFileSync('ps', ['-A', '-o', 'command'], { encoding: 'utf8' }).split('\n');
    return all.filter((line) => line.includes(dataDir));
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return ''; // It has ended in between.
      }
    })
    .filter((line) => line.includes(dataDir));
}

async function welcomeOf(child: ChildProcess) {
  const text = await untilSaid(child, 'Ctrl-C stops everything');
  const find = (pattern: RegExp): string => pattern.exec(text)?.[1] ?? `${String(pattern)} is not in ${text}`;
  return {
    url: find(/GraphQL +(http:\S+)\/graphql/),
    operations: find(/(http:\S+)\/metrics/),
    token: find(/^ {2}(eyJ\S+)$/m),
    query: JSON.parse(find(/-d '(\{.*\})'/)).query as string,
  };
}

const runCommand = (...args: string[]) =>
  new Promise<string>((resolve, reject) => {
    const env = { ...childEnvironment(), TIDELINE_DATA_DIR: dataDir };
    execFile(process.execPath, ['dist/src/cli/main.js', ...args], { cwd: root, env }, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr));
      else resolve(stdout.trim());
    });
  });

const PUBLISH = 'mutation { publishContent(input: { text: "Kept through a crash" }) { content { contentId } } }';
const readOutbox = async (url: string, token: string): Promise<{ text: string }[]> => {
  const { body } = await postGraphql(url, '{ viewer { contents(first: 1) { edges { node { text } } } } }', { token });
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the assertions are the type check
  return (body.data as any).viewer.contents.edges.map((edge: { node: { text: string } }) => edge.node);
};

describe('npm start', () => {
  let running: ChildProcess;

  test('starts from an empty folder, prints URLs, a token and a query, and the query works', async () => {
    running = start();
    const { url, operations, token, query } = await welcomeOf(running);
    expect(url).toBe(`http://127.0.0.1:${ports['GATEWAY_PORT']}`);
    expect(operations).toBe(`http://127.0.0.1:${ports['OPS_PORT']}`);
    const { body } = await postGraphql(url, query, { token });
    expect(body.errors).toBeUndefined();
    expect(body.data).toMatchObject({
      timelineFeed: {
        edges: Array.from({ length: 3 }, () => ({
          node: { text: expect.any(String), author: { displayName: expect.any(String) } },
        })),
        pageInfo: { hasNextPage: true },
      },
    });
    for (const port of PORTS) {
      expect((await fetch(`http://127.0.0.1:${ports[port]}/health/ready`)).status).toBe(200);
    }
    expect((await fetch(`${operations}/metrics`)).status).toBe(200);
  }, 120_000);

  test("the README's first query works with the token of the command line", async () => {
    const url = `http://127.0.0.1:${ports['GATEWAY_PORT']}`;
    const readme = readFileSync(path.join(root, 'README.md'), 'utf8');
    const query = JSON.parse(`{${/-d '\{\s*("query": ".*?")\s*\}'/s.exec(readme)?.[1] ?? ''}}`).query as string;
    const { body } = await postGraphql(url, query, { token: await runCommand('token', '1') });
    expect(body.errors).toBeUndefined();
    expect(body.data).toMatchObject({ timelineFeed: { pageInfo: { hasNextPage: true } } });
  });

  test('a second start on the same folder says which process has it, and ends with code 1', async () => {
    const others = Object.fromEntries(PORTS.map((name) => [name, '0']));
    const { code, text } = await runToEnd(start(others));
    expect(code).toBe(1);
    expect(text).toContain(`The data folder ${dataDir} is in use by process ${String(running.pid)}`);
    expect(text).not.toMatch(/^\s+at /m);
    expect((await fetch(`http://127.0.0.1:${ports['GATEWAY_PORT']}/health/ready`)).status).toBe(200);
  });

  test('killed by SIGKILL it starts again, and all that it had answered is kept', async () => {
    const token = await runCommand('token', '1');
    const url = `http://127.0.0.1:${ports['GATEWAY_PORT']}`;
    expect((await postGraphql(url, PUBLISH, { token })).body.errors).toBeUndefined();
    await stop(running, 'SIGKILL');
    running = start();
    const again = await welcomeOf(running);
    expect(await readOutbox(again.url, again.token)).toEqual([{ text: 'Kept through a crash' }]);
    expect((await postGraphql(again.url, again.query, { token })).body.errors).toBeUndefined();
  }, 60_000);

  test('SIGTERM ends it with code 0 within ten seconds and leaves nothing running', async () => {
    const startedAt = performance.now();
    expect(await stop(running, 'SIGTERM')).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(STOP_MS);
    expect(listProcesses()).toEqual([]);
  }, 30_000);

  test.each(['GATEWAY_PORT', 'OPS_PORT'])(
    'with %s taken it says so and how to go on, ends with code 1 and leaves nothing running',
    async (name) => {
      const other = createServer().listen(Number(ports[name]), '127.0.0.1');
      await once(other, 'listening');
      const { code, text } = await runToEnd(start());
      other.close();
      expect(code).toBe(1);
      expect(text).toContain(
        `Port 127.0.0.1:${ports[name]} is taken. Stop what uses it, or set ${name} to another port.`,
      );
      expect(text).not.toMatch(/^\s+at /m);
      expect(listProcesses()).toEqual([]);
    },
    60_000,
  );

  test('after all that it starts once more with its data, on ports of its own choice', async () => {
    ports = Object.fromEntries(PORTS.map((name) => [name, '0']));
    running = start();
    const { url, token } = await welcomeOf(running);
    expect(await readOutbox(url, token)).toEqual([{ text: 'Kept through a crash' }]);
    expect(await stop(running, 'SIGTERM')).toBe(0);
    expect(listProcesses()).toEqual([]);
  }, 60_000);
});
