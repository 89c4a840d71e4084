import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { GatewayRuntime } from '@graphql-hive/gateway-runtime';
import { messageOf } from '../domain/errors.js';
import { parseOperationList } from './operation-list.js';
import { createRuntime, type RuntimeSettings } from './runtime.js';

export interface CurrentRuntime extends Pick<GatewayRuntime, 'fetch' | 'handleNodeRequestAndResponse' | 'getSchema'> {
  [Symbol.asyncDispose](): Promise<void>;
}

export interface WatchedFiles {
  readonly supergraphPath: string;
  /** PERSISTED_OPERATIONS_FILE */
  readonly operationsPath: string | undefined;
  /** How often they are looked at; 0: never after the start. */
  readonly pollMs: number;
}

type Settings = Omit<RuntimeSettings, 'supergraph' | 'listedOperations'>;

/**
 * A runtime of the supergraph and the operation list as their files stand. When a file changes, a runtime of the new
 * content is built beside the old one and takes over between two requests; what the old one is answering it answers to the
 * end, but for open streams: those may end with it, and their clients connect again. A content that does not load changes nothing but the log. (Hive's own reload aborts what is in flight.)
 * @throws when the files do not load at the start
 */
export async function startRuntime(files: WatchedFiles, settings: Settings): Promise<CurrentRuntime> {
  const { log } = settings;
  let generation = await loadGeneration(files, settings);
  let refusedVersion = '';
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    try {
      const content = await readContent(files);
      if (content.version === generation.version || content.version === refusedVersion) return;
      // Told once, not at every look.
      refusedVersion = content.version;
      const old = generation;
      generation = await buildGeneration(content, settings);
      log.info('the supergraph or the list of operations has changed');
      await old.retire();
    } catch (error) {
      log.error(
        { reason: messageOf(error) },
        'a changed supergraph or list of operations does not load; the old stays',
      );
    } finally {
      isLooking = false;
    }
  }
  const timer = files.pollMs > 0 ? setInterval(() => void look(), files.pollMs).unref() : undefined;

  return {
    fetch: (...args: Parameters<GatewayRuntime['fetch']>) => generation.use((runtime) => runtime.fetch(...args)),
    handleNodeRequestAndResponse: (...args: Parameters<GatewayRuntime['handleNodeRequestAndResponse']>) =>
      generation.use((runtime) => runtime.handleNodeRequestAndResponse(...args)),
    getSchema: () => generation.use((runtime) => runtime.getSchema()),
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await generation.retire();
    },
  } as CurrentRuntime;
}

interface Generation {
  readonly version: string;
  use<T>(work: (runtime: GatewayRuntime) => T | Promise<T>): Promise<T>;
  /** Resolves at once; the runtime ends when its last request has been answered. */
  retire(): Promise<void>;
}

const loadGeneration = async (files: WatchedFiles, settings: Settings) =>
  buildGeneration(await readContent(files), settings);

async function readContent({ supergraphPath, operationsPath }: WatchedFiles) {
  const supergraph = await readFile(supergraphPath, 'utf8');
  const operations = operationsPath === undefined ? null : await readFile(operationsPath, 'utf8');
  const version = createHash('sha256')
    .update(JSON.stringify([supergraph, operations]))
    .digest('hex');
  return { supergraph, operations, version };
}

type Content = Awaited<ReturnType<typeof readContent>>;

async function buildGeneration({ supergraph, operations, version }: Content, settings: Settings): Promise<Generation> {
  const listedOperations = operations === null ? null : parseOperationList(operations);
  const runtime = await createRuntime({ ...settings, supergraph, listedOperations });
  // The first use plans on the schema: one that cannot be used is known here.
  await runtime.getSchema();
  let inFlight = 0;
  let isRetired = false;
  const endWhenIdle = async (): Promise<void> => {
    if (isRetired && inFlight === 0) await runtime[Symbol.asyncDispose]();
  };
  return {
    version,
    async use(work) {
      inFlight += 1;
      try {
        return await work(runtime);
      } finally {
        inFlight -= 1;
        void endWhenIdle();
      }
    },
    async retire() {
      isRetired = true;
      await endWhenIdle();
    },
  };
}
