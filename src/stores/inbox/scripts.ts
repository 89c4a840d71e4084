import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';

type Argument = string | number | Buffer;

export interface Script {
  (keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
  /** The reply's strings as bytes. */
  bytes(keys: readonly string[], args: readonly Argument[]): Promise<unknown>;
}

/**
 * The scripts of a folder in lua/, each behind the folder's head.lua. They run by EVALSHA, and by EVAL when the server does
 * not know them yet.
 */
export function defineScripts<Name extends string>(
  redis: Redis,
  folder: string,
  names: readonly Name[],
): Record<Name, Script> {
  const read = (name: string): string => readFileSync(new URL(`./lua/${folder}/${name}.lua`, import.meta.url), 'utf8');
  const define = (name: Name): Script => {
    const command = `inbox_${folder}_${name}`;
    redis.defineCommand(command, { lua: `${read('head')}\n${read(name)}` });
    const commands = redis as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
    const run =
      (variant: string): Awaited<Script['bytes']> =>
      (keys, args) =>
        (commands[variant] as (...args: unknown[]) => Promise<unknown>).call(redis, keys.length, ...keys, ...args);
    return Object.assign(run(command), { bytes: run(`${command}Buffer`) });
  };
  return Object.fromEntries(names.map((name) => [name, define(name)])) as Record<Name, Script>;
}
