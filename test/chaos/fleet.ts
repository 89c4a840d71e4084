import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { followChild, forkScript, type Life } from '../load/children.js';
import type { ChildTask } from '../load/crowd.js';
import type { Route, Routes } from './routes.js';

export const ROLES = ['relay', 'dispatcher', 'executor', 'maintenance'] as const;
export type Role = (typeof ROLES)[number];

/** A process that is started again whenever it ends, as an orchestrator does it. */
export interface Member {
  readonly name: string;
  readonly route: Route;
  /** Ends the present process; the next one starts by itself. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

export interface Fleet {
  readonly workers: readonly Member[];
  readonly clients: readonly Member[];
  /** Ended by themselves, and not for a store that was away at their start. */
  readonly crashes: readonly string[];
  /** Did not end within their time after SIGTERM. */
  readonly slowStops: readonly string[];
  /** Lets the clients end their last step, and tells the reports of all lives of all clients, by script. */
  stopClients(): Promise<ReadonlyMap<string, unknown[]>>;
  stopWorkers(): Promise<void>;
}

const RESTART_PAUSE_MS = 300;
/** Until they are told. */
const FOR_EVER = 86_400;

export async function startFleet(options: {
  routes: Routes;
  env: Record<string, string>;
  /** How many of each. */
  workers: Readonly<Record<Role, number>>;
  clients: Readonly<Record<string, number>>;
  task: Omit<ChildTask, 'index' | 'count' | 'seconds'>;
  logFile: string;
}): Promise<Fleet> {
  const { routes, env, task } = options;
  const log = openSync(options.logFile, 'a');
  const crashes: string[] = [];
  const slowStops: string[] = [];
  const stopped = { workers: false, clients: false };

  const fork = (script: string, args: string[], settings: Record<string, string>): ChildProcess => {
    const stdio = ['ignore', log, 'pipe', 'ipc'] as const;
    return forkScript(script, args, { env: { ...env, ...settings }, stdio: [...stdio] });
  };

  /** Starts the process again and again until its kind is stopped. */
  function keep(kind: keyof typeof stopped, name: string, route: Route, start: () => ChildProcess) {
    let child: ChildProcess | null = null;
    const asked = new WeakSet<ChildProcess>();
    const lives = (async () => {
      const ends: Life<unknown>[] = [];
      while (!stopped[kind]) {
        child = start();
        const errors = collectErrors(child, log);
        const life = await followChild(child);
        ends.push(life);
        const isAsked = asked.has(child);
        if (isAsked && life.signal === null && life.code !== 0) slowStops.push(name);
        if (!isAsked && life.code !== 0 && isCrash(errors())) crashes.push(`${name}: ${errors().slice(-1_500)}`);
        await pause(RESTART_PAUSE_MS);
      }
      return ends;
    })();
    const end: Member['end'] = async (signal) => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      asked.add(child);
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
    };
    return { name, route, end, tell: () => child?.connected && child.send('end'), lives };
  }

  const workers = await Promise.all(
    ROLES.flatMap((role) => Array<Role>(options.workers[role]).fill(role)).map(async (role) => {
      const route = await routes.open();
      return keep('workers', role, route, () => fork('workers/worker.ts', [], { ...route.env, WORKER_ROLES: role }));
    }),
  );
  const clients = await Promise.all(
    Object.entries(options.clients).flatMap(([script, count]) =>
      Array.from({ length: count }, async (_, index) => {
        const route = await routes.open();
        const life: ChildTask = { ...task, index, count, seconds: FOR_EVER };
        return keep('clients', script, route, () => fork(script, [JSON.stringify(life)], { ...route.env }));
      }),
    ),
  );
  return {
    workers,
    clients,
    crashes,
    slowStops,
    async stopClients() {
      stopped.clients = true;
      const reports = new Map<string, unknown[]>();
      for (const client of clients) client.tell();
      for (const { name, lives } of clients) {
        const known = (await lives).flatMap(({ report }) => (report === undefined ? [] : [report]));
        reports.set(name, [...(reports.get(name) ?? []), ...known]);
      }
      return reports;
    },
    async stopWorkers() {
      stopped.workers = true;
      await Promise.all(workers.map((worker) => worker.end('SIGTERM')));
      await Promise.all(workers.map(({ lives }) => lives));
      closeSync(log);
    },
  };
}

const ERRORS_MAX = 20_000;

/** What the child writes to stderr goes to the log; its end is kept. */
function collectErrors(child: ChildProcess, log: number): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-ERRORS_MAX);
    writeSync(log, chunk);
  });
  return () => text;
}

/** Node signs what an uncaught error has ended; a start that was refused tells its reason alone. */
const isCrash = (errors: string): boolean => /^Node\.js v\d/m.test(errors);
