import { spawn } from 'node:child_process';
import { closeSync, openSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from './log.js';
import { findFreePort, keepSecret, makeFolder, readTextIfPresent, writePrivateFile } from './private-files.js';
import { isProcessAlive, stopProcess, waitUntil } from './processes.js';
import { prepareRedisBinary, redisAdvice, type RedisBinary } from './redis-binary.js';
import { askRedis, saveInstance, stopRedis, takeOverRedis, type RedisInstance } from './redis-instance.js';

export { prepareRedisBinary, type RedisBinary } from './redis-binary.js';

export type EmbeddedRedis = {
  url: string;
  pid: number;
  /** True when this start found the server running, left by a killed one. */
  isAdopted: boolean;
  stop(): Promise<void>;
  /** SIGKILL, for tests of what a crash leaves. */
  kill(): Promise<void>;
};

export type EmbeddedRedisOptions = {
  /** Its files lie in `<dataDir>/redis`. One process at a time may call this for one folder: see start-lock.ts. */
  dataDir: string;
  log: Log;
  /** True: append-only file, synced every second. False: nothing is kept. */
  persistent: boolean;
  /** Prepared earlier by prepareRedisBinary; looked up under `<dataDir>/cache` when absent. */
  binary?: RedisBinary;
  port?: number;
  password?: string;
};

const startAttemptsMax = 5;
const startTimeoutMs = 60_000;

/** Starts a private Redis on loopback, or adopts the one that a killed start left behind. */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const { log, persistent } = options;
  const redisDir = realpathSync(makeFolder(join(options.dataDir, 'redis'), 0o700));
  const leftover = await takeOverRedis(redisDir, { persistent, port: options.port, password: options.password }, log);
  if (leftover) log.info(`Adopted the Redis that an earlier start left running (process ${leftover.pid}).`);
  const running = leftover ?? (await startServer(redisDir, options));

  let isStopping = false;
  watchForLoss(running.pid, () => isStopping, redisDir, log);
  return {
    url: `redis://:${running.password}@127.0.0.1:${running.port}`,
    pid: running.pid,
    isAdopted: leftover !== null,
    async stop() {
      isStopping = true;
      await stopRedis(running.pid);
    },
    async kill() {
      isStopping = true;
      await stopProcess(running.pid, [{ signal: 'SIGKILL', waitMs: 2_000 }]);
    },
  };
}

async function startServer(redisDir: string, options: EmbeddedRedisOptions): Promise<RedisInstance & { pid: number }> {
  const binary = options.binary ?? (await prepareRedisBinary(join(options.dataDir, 'cache'), { log: options.log }));
  const password = options.password ?? keepSecret(join(redisDir, 'password'));
  for (let attempt = 1; ; attempt += 1) {
    const instance = { port: options.port ?? (await findFreePort()), password, persistent: options.persistent };
    saveInstance(redisDir, instance);
    writePrivateFile(join(redisDir, 'redis.conf'), describeConfig(redisDir, instance));
    const pid = spawnServer(binary, redisDir);
    const isReady = await waitUntil(() => isReadyOrGone(pid, instance, redisDir), startTimeoutMs, 5);
    if (isReady && isProcessAlive(pid)) return { ...instance, pid };
    if (isProcessAlive(pid)) await stopRedis(pid);
    const output = readTextIfPresent(join(redisDir, 'redis.log'))?.slice(-4_000) ?? '';
    // Somebody else took the port between the question and the start.
    const mayPass = /address already in use|could not create server tcp/i.test(output);
    if (mayPass && options.port === undefined && attempt < startAttemptsMax) continue;
    throw new Error(`Redis does not start on ${redisDir}. Its log (redis.log there) ends:\n${output}\n${redisAdvice}`);
  }
}

function describeConfig(redisDir: string, { port, password, persistent }: RedisInstance): string {
  return [
    'bind 127.0.0.1',
    'protected-mode yes',
    `port ${port}`,
    // In a file of mode 600 and not on the command line, which every user of the machine can read.
    `requirepass ${password}`,
    `dir ${JSON.stringify(redisDir)}`,
    `pidfile ${JSON.stringify(join(redisDir, 'redis.pid'))}`,
    'daemonize no',
    // Inboxes and queues are no cache: a full server must refuse and not forget.
    'maxmemory-policy noeviction',
    'save ""',
    `appendonly ${persistent ? 'yes' : 'no'}`,
    'appendfsync everysec',
    '',
  ].join('\n');
}

function spawnServer(binary: RedisBinary, redisDir: string): number {
  // A file, not a pipe: the server must survive this process being killed. Emptied at each start, so it stays small.
  const output = openSync(join(redisDir, 'redis.log'), 'w', 0o600);
  try {
    const env = { ...process.env, LC_ALL: 'C', ...(binary.libraryPath ? { LD_LIBRARY_PATH: binary.libraryPath } : {}) };
    // A group of its own: Ctrl-C must reach this process first, so that it can drain before Redis stops.
    const options = { cwd: redisDir, detached: true, stdio: ['ignore', output, output], env } as const;
    const child = spawn(binary.path, [join(redisDir, 'redis.conf')], { ...options, stdio: [...options.stdio] });
    child.on('error', () => undefined);
    if (!child.pid) throw new Error(`Cannot run ${binary.path}. ${redisAdvice}`);
    child.unref();
    return child.pid;
  } finally {
    closeSync(output);
  }
}

async function isReadyOrGone(pid: number, instance: RedisInstance, redisDir: string): Promise<boolean> {
  if (!isProcessAlive(pid)) return true;
  const answer = await askRedis(instance, redisDir);
  return answer?.pid === pid && !answer.isLoading;
}

function watchForLoss(pid: number, isStopping: () => boolean, redisDir: string, log: Log): void {
  const timer = setInterval(() => {
    if (isProcessAlive(pid)) return;
    clearInterval(timer);
    if (!isStopping()) log.error(`The embedded Redis ended by itself; see ${join(redisDir, 'redis.log')}.`);
  }, 2_000);
  timer.unref();
}
