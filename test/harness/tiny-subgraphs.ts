import { mkdtempSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { readConfig, type Config } from '../../src/config.js';
import type { Viewer } from '../../src/domain/viewer.js';
import type { RunningServer } from '../../src/http.js';
import type { Logger } from '../../src/log.js';
import { mintToken } from '../../src/identity.js';
import { findProjectFile } from '../../src/project-files.js';
import { startSubgraph } from '../../src/subgraphs/server.js';

export const testConfig = (env: Record<string, string> = {}): Config => readConfig({ NODE_ENV: 'test', ...env });

export const testProductionConfig = (env: Record<string, string> = {}): Config =>
  readConfig({
    NODE_ENV: 'production',
    AUTH_JWT_SECRET: 'a secret of these tests only',
    DATABASE_URL: 'postgres://nowhere.invalid/none',
    REDIS_URL: 'redis://nowhere.invalid',
    ...env,
  });

/** A logger whose lines a test can read. */
export function createTestLog(): { log: Logger; lines: () => string } {
  const chunks: string[] = [];
  const sink = new Writable({
    write(chunk, _, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  return { log: pino({ level: 'info' }, sink), lines: () => chunks.join('') };
}

interface TinyContext {
  readonly viewer: Viewer | null;
  readonly requestId: string;
}

/** A server of one of the project's SDLs with resolvers made up by a test. The port is free unless given. */
export const startTinySubgraph = (
  name: 'social' | 'timeline' | 'insights',
  resolvers: object,
  settings: { config?: Config; log?: Logger; port?: number; typeDefs?: string } = {},
): Promise<RunningServer> =>
  startSubgraph<TinyContext>({
    name,
    typeDefs: settings.typeDefs ?? findProjectFile(`schema/${name}.graphql`),
    resolvers,
    makeContext: (viewer, requestId) => ({ viewer, requestId }),
    config: settings.config ?? testConfig(),
    log: settings.log ?? createTestLog().log,
    readyChecks: {},
    port: settings.port ?? 0,
    portSetting: `${name.toUpperCase()}_PORT`,
  });

export function writeTempFile(name: string, text: string): string {
  const file = path.join(mkdtempSync(path.join(os.tmpdir(), 'tideline-')), name);
  writeFileSync(file, text);
  return file;
}

export interface GraphqlAnswer {
  readonly status: number;
  readonly body: {
    data?: Record<string, unknown> | null;
    errors?: { message: string; path?: (string | number)[]; extensions: { code: string } }[];
  };
  readonly text: string;
  readonly headers: Headers;
}

export async function postGraphql(
  url: string,
  query: string,
  options: { token?: string; variables?: object; headers?: Record<string, string> } = {},
): Promise<GraphqlAnswer> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(options.token !== undefined && { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    body: JSON.stringify({ query, variables: options.variables }),
  });
  const text = await response.text();
  return { status: response.status, body: JSON.parse(text) as GraphqlAnswer['body'], text, headers: response.headers };
}

export const tokenFor = (userId: bigint, config = testConfig(), admin = false) => mintToken(config, userId, { admin });
