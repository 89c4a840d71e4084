import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** Creates the folder (and its parents) or says whose permission is missing. */
export function makeFolder(path: string, mode = 0o755): string {
  try {
    mkdirSync(path, { recursive: true, mode });
    return path;
  } catch (error) {
    throw new Error(
      `Cannot create the folder ${path} (${(error as NodeJS.ErrnoException).code}). ` +
        'If an earlier start ran as another user, remove the data folder or set TIDELINE_DATA_DIR to a folder of your own.',
      { cause: error },
    );
  }
}

/** Writes a file that only its owner may read; readers see the old content or the new one, never a part. */
export function writePrivateFile(path: string, content: string): void {
  const draft = `${path}.${process.pid}.tmp`;
  writeFileSync(draft, content, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
}

/** The file's text, or null when there is no such file. */
export function readTextIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** The file's JSON, or null when it is absent or torn; the caller checks the fields it uses. */
export function readJsonIfPresent<T>(path: string): Partial<T> | null {
  const text = readTextIfPresent(path);
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : null;
  } catch {
    // A file torn by a power cut is worth as much as no file.
    return null;
  }
}

/** Reads the secret kept in the file, making a random one at first use. URL-safe. */
export function keepSecret(path: string): string {
  const kept = readTextIfPresent(path)?.trim();
  if (kept) return kept;
  const secret = randomBytes(18).toString('base64url');
  writePrivateFile(path, `${secret}\n`);
  return secret;
}

/** A loopback port that was free a moment ago; whoever binds it must be ready to lose the race and ask again. */
export async function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
