import type { Answer, Egress, GuardedClient } from '@wharf/egress';
import { AppError } from '@wharf/errors';
import { boundedBody, drain } from '../../driver-contract/answers.ts';
import type { CallOptions } from '../../driver-contract/storage-driver.ts';
import { storageError } from '../../driver-contract/storage-error.ts';
import { childrenOf, readChildren, textOf, type XmlElement } from '../../driver-contract/xml.ts';
import type { Place } from './client.ts';

/** Whether folders are empty, by more than what rclone lists. */
export interface Emptiness {
  /** @throws AppError DIRECTORY_NOT_EMPTY, also where nobody can tell | ENTRY_NOT_FOUND */
  check(folder: Place, call: CallOptions): Promise<void>;
  /** Ends every connection. Safe twice. */
  close(): void;
}

/** A login that rclone makes of others than these is not known here. */
const PLAIN_VENDORS: readonly (string | undefined)[] = [
  undefined,
  '',
  'fastmail',
  'infinitescale',
  'nextcloud',
  'owncloud',
  'other',
  'rclone',
];
const ASKED = '<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>';
const MAX_RESPONSE_BYTES = 256 * 1024;
const MAX_CONNECTIONS = 4;

/** Of a server that is not asked: no folder is known to be empty. */
export const UNKNOWN_EMPTINESS: Emptiness = {
  check: () => Promise.reject(new AppError('DIRECTORY_NOT_EMPTY', 'rclone does not tell whether something is left in the folder')),
  close: () => undefined,
};

/**
 * Asks a WebDAV server itself. rclone passes over what it cannot see (properties that are refused) and over names that it cannot read, takes a folder for
 * empty that has nothing else, and removes it by `DELETE`, which takes all.
 */
export function openDavEmptiness(options: Readonly<Record<string, string>>, egress: Egress): Emptiness {
  const { url = '', vendor, user = '', pass = '', bearer_token: token } = options;
  if (!PLAIN_VENDORS.includes(vendor)) return UNKNOWN_EMPTINESS;
  const login = token ? `Bearer ${token}` : `Basic ${Buffer.from(`${user}:${pass}`).toString('base64')}`;
  const authorization = token || user !== '' ? { Authorization: login } : {};
  let client: GuardedClient | undefined;
  return {
    async check(folder, { signal }) {
      const base = egress.parseUrl(url.includes('://') ? url : `https://${url}`);
      client ??= egress.openClient({ maxConnections: MAX_CONNECTIONS });
      const asked = new URL(base);
      asked.pathname = `${base.pathname.replace(/\/$/, '')}/${folder.split('/').map(encodeURIComponent).join('/')}/`;
      const headers = { ...authorization, Depth: '1', 'Content-Type': 'application/xml; charset=utf-8' };
      const answer = await client.request({ url: asked, method: 'PROPFIND', headers, body: ASKED, signal });
      if (!(await isAlone(answer, asked, signal))) throw storageError('DIRECTORY_NOT_EMPTY');
    },
    close: () => client?.close(),
  };
}

/** Whether the answer tells of what was asked for, and of nothing else. */
async function isAlone(answer: Answer, asked: URL, signal: AbortSignal | undefined): Promise<boolean> {
  const { statusCode = 0 } = answer;
  if (statusCode !== 207) {
    await drain(answer, signal);
    const cause = new Error(`the server answered ${statusCode}`);
    if (statusCode === 404) throw storageError('ENTRY_NOT_FOUND', cause);
    if (statusCode === 429 || statusCode >= 500) throw storageError('STORAGE_UNAVAILABLE', cause);
    return false;
  }
  let hasItself = false;
  for await (const element of readChildren(boundedBody(answer, signal), 'multistatus', MAX_RESPONSE_BYTES)) {
    if (element.name !== 'response') continue;
    if (!isItself(element, asked)) return false;
    hasItself = true;
  }
  return hasItself;
}

function isItself(response: XmlElement, asked: URL): boolean {
  const isSeen = childrenOf(response, 'propstat').some((each) => /^\s*HTTP\/[\d.]+\s+200\b/.test(textOf(each, 'status') ?? ''));
  const path = (textOf(response, 'href') ?? '').trim().replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '');
  return isSeen && decoded(path) !== undefined && decoded(path) === decoded(asked.pathname);
}

/** Undefined where it is no UTF-8. */
function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path.replace(/\/$/, ''));
  } catch {
    return undefined;
  }
}
