import { AppError } from '@wharf/errors';
import type { Pace } from '@wharf/pace';
import { hasPermission } from '@wharf/rights';
import { type Digests, parseDigests } from './digests.ts';
import { BUILT_IN_TOOL } from './download-input.ts';
import { isMagnet, magnetHashes } from './magnet.ts';

/** Of one address. */
const MAX_URL_LENGTH = 8_192;
/** Of one call. */
const MAX_URLS = 1_000;

/** @throws AppError PERMISSION_DENIED */
export function requireMayDownload(user: Parameters<typeof hasPermission>[0]): void {
  if (!hasPermission(user, 'offline_download')) throw new AppError('PERMISSION_DENIED', 'permission denied');
}

/** The addresses of one call, without empty lines. @throws AppError INVALID_ARGUMENT: too many */
export function requestedUrls(lines: readonly string[]): string[] {
  const urls = lines.map((line) => line.trim()).filter((url) => url !== '');
  if (urls.length > MAX_URLS) throw new AppError('INVALID_ARGUMENT', `at most ${MAX_URLS} addresses at a time`);
  return urls;
}

/** What the one file of a call is to hash to. @throws AppError INVALID_ARGUMENT | UNSUPPORTED_OPERATION: not for this tool */
export function requestedDigests(given: Readonly<Record<string, string>>, tool: string, urlCount: number): Digests {
  const digests = parseDigests(given);
  if (Object.keys(digests).length === 0) return digests;
  if (tool !== BUILT_IN_TOOL) throw new AppError('UNSUPPORTED_OPERATION', `hashes are for ${BUILT_IN_TOOL} only`);
  if (urlCount !== 1) throw new AppError('INVALID_ARGUMENT', 'hashes are for one address');
  return digests;
}

/**
 * What can be said of an address before it is fetched. @returns the address as it is shown: without its password
 *
 * @param parseUrl @throws AppError for what is no address, or none that is allowed
 * @throws AppError FAILED_PRECONDITION | UNSUPPORTED_OPERATION: clients expect 500 for each
 */
function shownUrl(parseUrl: (text: string) => URL, tool: string, text: string): string {
  if (/\p{Cc}/u.test(text)) throw new AppError('FAILED_PRECONDITION', 'the address has a line break or another control character in it');
  if (text.length > MAX_URL_LENGTH) throw new AppError('FAILED_PRECONDITION', 'the address is too long');
  try {
    if (isMagnet(text) && tool !== BUILT_IN_TOOL) {
      magnetHashes(text);
      return text;
    }
    const url = parseUrl(text);
    if (url.username === '' && url.password === '') return text;
    url.username = '';
    url.password = '';
    return url.href;
  } catch (error) {
    if (AppError.is(error, 'UNSUPPORTED_OPERATION')) throw error;
    throw new AppError('FAILED_PRECONDITION', AppError.from(error).message, { cause: error });
  }
}

/** The part of a call that can be done: its addresses up to the first refused one, and the reason of that refusal. */
export async function acceptedUrls(
  parseUrl: (text: string) => URL,
  tool: string,
  urls: readonly string[],
  pace: Pace,
): Promise<{ accepted: readonly { url: string; shown: string }[]; refusal?: { error: unknown } }> {
  const accepted: { url: string; shown: string }[] = [];
  for (const url of urls) {
    await pace.step();
    try {
      accepted.push({ url, shown: shownUrl(parseUrl, tool, url) });
    } catch (error) {
      return { accepted, refusal: { error } };
    }
  }
  return { accepted };
}
