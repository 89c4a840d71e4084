import { badInput } from '../domain/errors.js';
import type { Viewer } from '../domain/viewer.js';
import { inTransaction } from '../stores/database.js';
import { ensureUser, saveProfile, type ProfileChange } from '../stores/users.js';
import type { SocialDeps } from './deps.js';
import { readText } from './validate-text.js';
import { isWebUrl, URL_LENGTH_MAX } from './validate-url.js';

/** Fields left out (undefined) stay as they are. */
export interface ProfileInput {
  readonly displayName?: string | null | undefined;
  /** Null takes the picture away. */
  readonly avatarUrl?: string | null | undefined;
}

const NAME_LENGTH_MAX = 50;

/**
 * Changes the viewer's own profile. Safe to repeat: it sets values, and caches are told again.
 * @throws TidelineError BAD_USER_INPUT
 */
export async function updateProfile(
  { pool, onUserChanged }: Pick<SocialDeps, 'pool' | 'onUserChanged'>,
  viewer: Viewer,
  input: ProfileInput,
): Promise<void> {
  const change = readChange(input);
  await inTransaction(pool, async (client) => {
    await ensureUser(client, viewer.userId);
    await saveProfile(client, viewer.userId, change);
  });
  onUserChanged(viewer.userId);
}

function readChange({ displayName, avatarUrl }: ProfileInput): ProfileChange {
  if (displayName === null) throw badInput('displayName must not be null; leave it out to keep it.');
  if (avatarUrl && !isWebUrl(avatarUrl)) {
    throw badInput(`avatarUrl must be an http or https URL of at most ${URL_LENGTH_MAX} characters.`);
  }
  if (avatarUrl === '') throw badInput('avatarUrl must not be empty; null takes the picture away.');
  return { displayName: displayName === undefined ? undefined : readName(displayName), avatarUrl };
}

function readName(text: string): string {
  const name = readText(text, 'displayName', { min: 1, max: NAME_LENGTH_MAX });
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name)) throw badInput('displayName must be one line without control characters.');
  return name;
}
