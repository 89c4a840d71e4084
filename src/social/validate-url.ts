export const URL_LENGTH_MAX = 2048;

/** The text is stored as it was given, so what URL parsing would quietly drop or mend is refused. */
export function isWebUrl(url: string): boolean {
  if (url.length > URL_LENGTH_MAX || !/^https?:\/\/[^\s\p{Cc}]+$/iu.test(url)) return false;
  return URL.canParse(url);
}
