import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { openApp } from '../../src/app.js';
import { readConfig } from '../../src/config.js';
import { migrateDatabase } from '../../src/stores/migrate.js';
import { harnessLog } from '../../test/harness/harness-log.js';

export interface ServiceProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly pid: number;
}

const LOADERS = ['./scripts/lib/register-typescript.mjs', './scripts/lib/end-with-parent.mjs'];
/** Of 50 ms each. */
const TRIES_MAX = 400;

/** A part of the service as a process of its own, without rate limits; it answers when this returns. */
export async function startRole(
  role: 'gateway' | 'social' | 'timeline' | 'worker',
  env: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<ServiceProcess> {
  const port = await findFreePort();
  const portName = role === 'worker' ? 'OPS_PORT' : `${role.toUpperCase()}_PORT`;
  const child = forkService(`workers/${role}.ts`, { ...env, [portName]: String(port), RATE_LIMIT: 'off' }, flags);
  const url = `http://127.0.0.1:${port}`;
  const isAlive = () =>
    fetch(`${url}/health/live`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (let tries = 0; !(await isAlive()); tries += 1) {
    if (tries === TRIES_MAX || child.exitCode !== null) throw new Error(`${role} does not start`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { child, url, pid: child.pid ?? 0 };
}

export const forkService = (
  script: string,
  env: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): ChildProcess =>
  fork(script, [], {
    execArgv: [...flags, ...LOADERS.flatMap((loader) => ['--import', loader])],
    env: { PATH: process.env['PATH'], ...env },
  });

/** Ends them and waits until they have. */
export async function stopServices(children: readonly ChildProcess[]): Promise<void> {
  const alive = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  const gone = alive.map((child) => once(child, 'exit'));
  for (const child of alive) child.kill('SIGTERM');
  await Promise.all(gone);
}

/** The settings of a deployment of its own in these services: a migrated database and a key prefix of that name. */
export async function createDeployment(
  services: { databaseUrl: string; redisUrl: string },
  name: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const url = new URL(services.databaseUrl);
  url.pathname = `/${name}`;
  const stores = { REDIS_URL: services.redisUrl, REDIS_KEY_PREFIX: name };
  const env = { NODE_ENV: 'test', LOG_LEVEL: 'error', ...stores, OPS_PORT: '0', ...settings };
  const admin = await openApp(readConfig({ ...env, DATABASE_URL: services.databaseUrl }), { name });
  await admin.database.pool.query(`CREATE DATABASE ${name}`);
  await admin.close();
  await migrateDatabase({ databaseUrl: url.href, log: harnessLog });
  return { ...env, DATABASE_URL: url.href };
}

const agent = new Agent({ keepAlive: true });

/** Sends an operation and gives back the answer's text. */
export function postOperation(
  url: string,
  token: string,
  operation: { query: string; variables: object },
): Promise<string> {
  const body = JSON.stringify(operation);
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
      'content-length': Buffer.byteLength(body),
    };
    request(url, { method: 'POST', agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        resolve(Buffer.concat(chunks).toString());
      });
    })
      .once('error', reject)
      .end(body);
  });
}

async function findFreePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
