import { PUBLISH_TIME_MAX } from '../domain/entry.js';
import { badInput, messageOf } from '../domain/errors.js';
import { parseId } from '../domain/ids.js';
import type { StagedRow } from '../stores/import-stage.js';

/**
 * Reads one line of an import file (SPEC 9.5). Times come as epoch milliseconds or RFC 3339. A field that is not known is
 * refused: a misspelt `visibility` must not make a post public.
 * @param nowMs the time of a follow, like or comment that gives none
 * @throws TidelineError BAD_USER_INPUT saying what is wrong with the line
 */
export function readLine(text: string, nowMs: number): StagedRow {
  const line = parseObject(text);
  const { kind } = line;
  if (typeof kind !== 'string' || !Object.hasOwn(readers, kind)) {
    throw badInput(`kind must be one of ${Object.keys(readers).join(', ')}`);
  }
  const { fields, read } = readers[kind as keyof typeof readers];
  const unknown = Object.keys(line).find((name) => name !== 'kind' && !fields.includes(name));
  if (unknown !== undefined) throw badInput(`a ${kind} has no field ${JSON.stringify(unknown.slice(0, 50))}`);
  return read(line, nowMs);
}

type Fields = Readonly<Record<string, unknown>>;
interface Reader {
  readonly fields: readonly string[];
  readonly read: (line: Fields, nowMs: number) => StagedRow;
}

// The limits that commands have too (src/social), and for what only an import writes generous ones.
const TEXT_MAX = 5_000;
const HANDLE_MAX = 64;
const NAME_MAX = 200;
const URL_MAX = 2_048;
const ALT_TEXT_MAX = 1_000;
const MEDIA_MAX = 10;

const readers = {
  user: {
    fields: ['id', 'handle', 'displayName', 'avatarUrl', 'lastActiveAt'],
    read: (line) => {
      const handle = readText(line, 'handle', { min: 1, max: HANDLE_MAX });
      if (/[\s\p{Cc}\p{Cf}]/u.test(handle)) throw badInput('handle must not contain spaces or control characters');
      return {
        kind: 'user',
        id: readId(line, 'id'),
        handle,
        displayName: isGiven(line['displayName']) ? readText(line, 'displayName', { min: 1, max: NAME_MAX }) : handle,
        avatarUrl: isGiven(line['avatarUrl']) ? readUrl(line, 'avatarUrl') : null,
        lastActiveAt: isGiven(line['lastActiveAt']) ? readTime(line, 'lastActiveAt') : null,
      };
    },
  },
  follow: {
    fields: ['follower', 'followee', 'at'],
    read: (line, nowMs) => {
      const follower = readId(line, 'follower');
      const followee = readId(line, 'followee');
      if (follower === followee) throw badInput('nobody follows themselves');
      return { kind: 'follow', follower, followee, at: readTime(line, 'at', nowMs) };
    },
  },
  content: {
    fields: ['id', 'author', 'publishTime', 'text', 'media', 'visibility', 'repostOf'],
    read: (line) => {
      const id = readId(line, 'id');
      const media = readMedia(line['media']);
      const repostOf = isGiven(line['repostOf']) ? readId(line, 'repostOf') : null;
      if (repostOf === id) throw badInput('a content is no repost of itself');
      return {
        kind: 'content',
        id,
        author: readId(line, 'author'),
        publishTime: readTime(line, 'publishTime'),
        text: readText(line, 'text', { min: media.length > 0 || repostOf !== null ? 0 : 1, max: TEXT_MAX }),
        media,
        visibility: isGiven(line['visibility'])
          ? readChoice(line, 'visibility', ['PUBLIC', 'FOLLOWERS', 'PRIVATE'])
          : 'PUBLIC',
        repostOf,
      };
    },
  },
  like: {
    fields: ['user', 'content', 'at'],
    read: (line, nowMs) => ({
      kind: 'like',
      user: readId(line, 'user'),
      content: readId(line, 'content'),
      at: readTime(line, 'at', nowMs),
    }),
  },
  comment: {
    fields: ['id', 'content', 'user', 'text', 'at'],
    read: (line, nowMs) => ({
      kind: 'comment',
      id: readId(line, 'id'),
      content: readId(line, 'content'),
      user: readId(line, 'user'),
      text: readText(line, 'text', { min: 1, max: TEXT_MAX }),
      at: readTime(line, 'at', nowMs),
    }),
  },
} satisfies Record<string, Reader>;

function parseObject(text: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badInput(`not JSON: ${messageOf(error).slice(0, 100)}`);
  }
  if (!isObject(value)) throw badInput('must be a JSON object');
  return value;
}

function readId(line: Fields, field: string): bigint {
  const value = line[field];
  if (typeof value !== 'string') throw badInput(`${field} must be an id, written as a string`);
  return parseId(value, field);
}

/** Trimmed. Characters are counted as people do, in code points. */
function readText(line: Fields, field: string, { min, max }: { min: number; max: number }): string {
  const value = line[field];
  if (typeof value !== 'string') throw badInput(`${field} must be a text`);
  // Postgres takes neither; a lone surrogate would silently become another character.
  if (value.includes('\0') || /\p{Surrogate}/u.test(value))
    throw badInput(`${field} contains characters that are not text`);
  const text = value.trim();
  if (text.length < min || (text.length > max && Array.from(text.slice(0, 2 * max + 1)).length > max)) {
    throw badInput(`${field} must have ${min} to ${max} characters`);
  }
  return text;
}

function readUrl(line: Fields, field: string): string {
  const url = readText(line, field, { min: 1, max: URL_MAX });
  if (!/^https?:\/\/\S+$/i.test(url) || !URL.canParse(url)) throw badInput(`${field} must be an http or https address`);
  return url;
}

function readChoice<T extends string>(line: Fields, field: string, choices: readonly T[]): T {
  const value = choices.find((choice) => choice === line[field]);
  if (value === undefined) throw badInput(`${field} must be one of ${choices.join(', ')}`);
  return value;
}

function readTime(line: Fields, field: string, fallback?: number): number {
  const value = line[field];
  if (!isGiven(value) && fallback !== undefined) return fallback;
  const time = typeof value === 'string' ? parseInstant(value) : value;
  if (typeof time !== 'number' || !Number.isInteger(time) || time < 0 || time > PUBLISH_TIME_MAX) {
    throw badInput(`${field} must be epoch milliseconds from 0 to 2^48-1, or RFC 3339`);
  }
  return time;
}

/** NaN when the text is no RFC 3339 instant. Date.parse alone takes the 30th of February for the 2nd of March. */
function parseInstant(text: string): number {
  const match = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i.exec(text);
  if (!match) return NaN;
  const [year, month, day] = match.slice(1, 4).map(Number) as [number, number, number];
  const isDay =
    month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  return isDay ? Date.parse(text.toUpperCase()) : NaN;
}

function readMedia(value: unknown) {
  if (!isGiven(value)) return [];
  if (!Array.isArray(value) || value.length > MEDIA_MAX) throw badInput(`media must be a list of at most ${MEDIA_MAX}`);
  return value.map((item: unknown) => {
    if (!isObject(item)) throw badInput('media must be a list of objects');
    const unknown = Object.keys(item).find((name) => !MEDIA_FIELDS.includes(name));
    if (unknown !== undefined) throw badInput(`media has no field ${JSON.stringify(unknown.slice(0, 50))}`);
    return {
      url: readUrl(item, 'url'),
      kind: readChoice(item, 'kind', ['IMAGE', 'VIDEO', 'LINK']),
      ...(isGiven(item['width']) && { width: readPixels(item, 'width') }),
      ...(isGiven(item['height']) && { height: readPixels(item, 'height') }),
      ...(isGiven(item['altText']) && { altText: readText(item, 'altText', { min: 0, max: ALT_TEXT_MAX }) }),
    };
  });
}

const MEDIA_FIELDS = ['url', 'kind', 'width', 'height', 'altText'];

function readPixels(item: Fields, field: string): number {
  const value = item[field];
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > 100_000) {
    throw badInput(`${field} must be a whole number from 1 to 100000`);
  }
  return value;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;
const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
