import { connect } from 'node:net';
import { join } from 'node:path';
import type { Log } from './log.js';
import { readJsonIfPresent, readTextIfPresent, writePrivateFile } from './private-files.js';
import { isProcessAlive, readCommandLine, stopProcess } from './processes.js';

/** Written before the server starts, so that a start killed at any moment can be found by the next one. */
export type RedisInstance = { port: number; password: string; persistent: boolean };

const answerTimeoutMs = 2_000;
const leftoverWaitMs = 8_000;

export type RedisAnswer = { pid: number; isLoading: boolean };

export function saveInstance(redisDir: string, instance: RedisInstance): void {
  writePrivateFile(join(redisDir, 'instance.json'), JSON.stringify(instance));
}

/**
 * The Redis that a killed start left running on this folder: returned when it answers and has the wanted settings,
 * otherwise stopped. Two servers on one append-only file would destroy it, so one that cannot be stopped is an error.
 */
export async function takeOverRedis(
  redisDir: string,
  wanted: { persistent: boolean; port: number | undefined; password: string | undefined },
  log: Log,
): Promise<(RedisInstance & { pid: number }) | null> {
  const kept = readJsonIfPresent<RedisInstance>(join(redisDir, 'instance.json'));
  if (!kept?.port || !kept.password) return null;
  const instance: RedisInstance = { port: kept.port, password: kept.password, persistent: kept.persistent === true };
  // Only a server of ours knows the random password; a stranger on the same port refuses it.
  const answer = await askRedis(instance, redisDir);
  const pid = answer?.pid ?? findByPidFile(redisDir, instance.port);
  if (pid === null) return null;
  const isWanted =
    instance.persistent === wanted.persistent &&
    (wanted.port ?? instance.port) === instance.port &&
    (wanted.password ?? instance.password) === instance.password;
  if (answer && !answer.isLoading && isWanted) return { ...instance, pid };
  log.warn(`Stopping a Redis (process ${pid}) that an earlier start left running on ${redisDir}.`);
  await stopRedis(pid, leftoverWaitMs);
  return null;
}

/** SIGTERM makes Redis write its append-only file to the disk before it ends. */
export async function stopRedis(pid: number, termWaitMs = 20_000): Promise<void> {
  const isStopped = await stopProcess(pid, [
    { signal: 'SIGTERM', waitMs: termWaitMs },
    { signal: 'SIGKILL', waitMs: 2_000 },
  ]);
  if (!isStopped) throw new Error(`Redis (process ${pid}) does not stop.`);
}

/** Who answers at the port with this password on this folder; null when nobody or somebody else does. */
export async function askRedis(
  { port, password }: { port: number; password: string },
  redisDir: string,
): Promise<RedisAnswer | null> {
  const lines = (await exchange(port, `AUTH ${password}\r\nCONFIG GET dir\r\nINFO\r\nQUIT\r\n`)).split('\r\n');
  const dir = lines[lines.indexOf('dir') + 2];
  const pid = Number(lines.find((line) => line.startsWith('process_id:'))?.slice('process_id:'.length));
  return dir === redisDir && pid > 0 ? { pid, isLoading: lines.includes('loading:1') } : null;
}

/**
 * Everything that the server says until it closes, empty when there is none. By hand, because ioredis keeps the process
 * alive for its connect timeout after a refusal, and a start asks many times. A server that hangs accepts and is silent.
 */
function exchange(port: number, commands: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(commands));
    const timer = setTimeout(() => socket.destroy(), answerTimeoutMs);
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => (text += String(chunk)));
    // A refusal is an answer too, and close follows it.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(text);
    });
  });
}

/** A server that hangs does not answer but still holds the files. Its title shows its port. */
function findByPidFile(redisDir: string, port: number): number | null {
  const pid = Number(readTextIfPresent(join(redisDir, 'redis.pid')));
  if (!Number.isInteger(pid) || pid <= 0 || !isProcessAlive(pid)) return null;
  const title = readCommandLine(pid);
  return /(redis|valkey)-server/.test(title) && title.includes(`127.0.0.1:${port}`) ? pid : null;
}
