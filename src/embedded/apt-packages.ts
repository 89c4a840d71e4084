import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from './run-tool.js';

/** Debian, Ubuntu and their like. */
export function hasApt(): boolean {
  return ['apt-get', 'dpkg-deb'].every((name) => runTool('sh', ['-c', `command -v ${name}`]).ok);
}

export type Download = (name: string) => boolean;

/**
 * Downloads packages into `<folder>/debs` and unpacks them into the folder, installing nothing.
 * With the system's package lists where they serve; else (none, or out of date) with lists of our own, as any user.
 */
export function chooseDownloader(folder: string): Download {
  const state = join(folder, 'apt');
  const own = [
    ['Dir::State', join(state, 'state')],
    ['Dir::State::status', '/var/lib/dpkg/status'],
    ['Dir::Cache', join(state, 'cache')],
    ['Acquire::Languages', 'none'],
  ].flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  let options: string[] = [];
  return (name) => {
    if (downloadAndUnpack(folder, name, options)) return true;
    if (options.length > 0) return false;
    options = own;
    mkdirSync(join(state, 'state/lists/partial'), { recursive: true });
    mkdirSync(join(state, 'cache/archives/partial'), { recursive: true });
    // One source that fails (a third party's, say) is no reason to give up: the download tells.
    runTool('apt-get', [...options, 'update'], folder);
    return downloadAndUnpack(folder, name, options);
  };
}

function downloadAndUnpack(folder: string, name: string, options: readonly string[]): boolean {
  const debDir = join(folder, 'debs', name);
  mkdirSync(debDir, { recursive: true });
  // The sandbox user cannot write under a closed folder and only warns about it; root stays root instead.
  if (!runTool('apt-get', [...options, '-o', 'APT::Sandbox::User=root', 'download', name], debDir).ok) return false;
  const deb = findDeb(debDir);
  return deb !== null && runTool('dpkg-deb', ['-x', deb, folder], folder).ok;
}

/** What the packages downloaded so far say that they depend on, first alternatives, libraries only. */
export function listDependencies(folder: string): string[] {
  return readdirSync(join(folder, 'debs')).flatMap((name) => {
    const deb = findDeb(join(folder, 'debs', name));
    if (!deb) return [];
    return runTool('dpkg-deb', ['-f', deb, 'Depends'], folder)
      .output.split(',')
      .map((item) => item.trim().split(/[\s(|:]/)[0] ?? '')
      .filter((item) => item.startsWith('lib'));
  });
}

function findDeb(folder: string): string | null {
  const file = readdirSync(folder).find((name) => name.endsWith('.deb'));
  return file ? join(folder, file) : null;
}
