import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../../src/embedded/private-files.js';
import { startEmbeddedRedis, type EmbeddedRedis, type RedisBinary } from '../../src/embedded/redis.js';
import { harnessLog } from './harness-log.js';

export type TestRedis = {
  readonly redisUrl: string;
  /** Null while it is stopped. */
  readonly pid: number | null;
  stop(): Promise<void>;
  /** SIGKILL, as a crash does it. */
  kill(): Promise<void>;
  /** The same address and password again; without keepData it comes back empty. */
  restart(keepData?: boolean): Promise<void>;
};

/** A private Redis with its files in `<dataDir>/redis`, which writes down what it is told. */
export async function startRedisServer(options: {
  dataDir: string;
  binary: RedisBinary;
  password?: string;
}): Promise<TestRedis> {
  const start = (port: number) => startEmbeddedRedis({ ...options, port, log: silentLog, persistent: true });
  let server: EmbeddedRedis | null = await start(await findFreePort());
  const redisUrl = server.url;
  const stop = async () => {
    await server?.stop();
    server = null;
  };
  return {
    redisUrl,
    get pid() {
      return server?.pid ?? null;
    },
    stop,
    async kill() {
      await server?.kill();
      server = null;
    },
    async restart(keepData = true) {
      await stop();
      if (!keepData) rmSync(join(options.dataDir, 'redis', 'appendonlydir'), { recursive: true, force: true });
      server = await start(Number(new URL(redisUrl).port));
    },
  };
}

// A test that kills its server expects the server to be gone.
const silentLog = { ...harnessLog, warn: () => undefined, error: () => undefined };
