import { badInput } from '../domain/errors.js';
import type { StoredMedia } from '../stores/contents.js';
import { refuseNul } from './validate-text.js';
import { isWebUrl, URL_LENGTH_MAX } from './validate-url.js';

export interface MediaInput {
  readonly url: string;
  readonly kind: StoredMedia['kind'];
  readonly width?: number | null | undefined;
  readonly height?: number | null | undefined;
  readonly altText?: string | null | undefined;
}

const MEDIA_MAX = 10;
const ALT_TEXT_LENGTH_MAX = 1000;

/** @throws TidelineError BAD_USER_INPUT naming the item and its field. */
export function readMedia(media: readonly MediaInput[] | null | undefined): StoredMedia[] {
  if (!media) return [];
  if (media.length > MEDIA_MAX) throw badInput(`media must have at most ${MEDIA_MAX} items.`);
  return media.map(({ url, kind, width, height, altText }, index) => {
    const name = `media[${index}]`;
    if (!isWebUrl(url))
      throw badInput(`${name}.url must be an http or https URL of at most ${URL_LENGTH_MAX} characters.`);
    if (altText && altText.length > ALT_TEXT_LENGTH_MAX) {
      throw badInput(`${name}.altText must have at most ${ALT_TEXT_LENGTH_MAX} characters.`);
    }
    refuseNul(altText ?? '', `${name}.altText`);
    return {
      url,
      kind,
      width: readLength(width, `${name}.width`),
      height: readLength(height, `${name}.height`),
      altText: altText ?? undefined,
    };
  });
}

function readLength(pixels: number | null | undefined, name: string): number | undefined {
  if (pixels === null || pixels === undefined) return undefined;
  if (!Number.isInteger(pixels) || pixels < 1) throw badInput(`${name} must be a positive integer.`);
  return pixels;
}
