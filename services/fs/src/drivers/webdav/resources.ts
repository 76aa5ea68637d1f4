import { ownText } from '@wharf/pace';
import type { Hashes } from '../../driver-contract/storage-driver.ts';
import { badAnswer } from '../../driver-contract/storage-error.ts';
import { childrenOf, textOf, type XmlElement } from '../../driver-contract/xml.ts';

/** What a server tells of a file or a folder. */
export interface Resource {
  readonly isFolder: boolean;
  /** Undefined where the server does not tell, and of folders. */
  readonly sizeBytes: number | undefined;
  /** On whole seconds; 1970 where the server does not tell. */
  readonly modifiedAt: Date;
  /** Its ETag without quotes. */
  readonly version: string | undefined;
  readonly hashes: Hashes | undefined;
  /** Of a file: the server makes a small picture of it. */
  readonly hasPreview?: true;
}

/** One `response` of a `multistatus`. */
export interface Response {
  /** The decoded segments of its path; undefined for an address that no path of ours is. */
  readonly segments: readonly string[] | undefined;
  /** Undefined: the server says that it cannot be seen. */
  readonly resource: Resource | undefined;
  /** Where the server told them. */
  readonly quota: { readonly availableBytes: number; readonly usedBytes: number } | undefined;
  /** The server says whether it makes a picture of this; it does so of all entries, folders too, or of none. */
  readonly knowsPreviews: boolean;
  /** Of the whole response, where it has one. */
  readonly status: number | undefined;
}

const PROPERTIES = '<resourcetype/><getcontentlength/><getlastmodified/><getetag/>';
/** What is asked for of each entry. `checksums` is ownCloud's, which Nextcloud and others have too. */
export const ENTRY_PROPERTIES = propfind(`${PROPERTIES}<o:checksums/>`);
/** The same of a server that makes small pictures (Nextcloud). */
export const PICTURED_PROPERTIES = propfind(`${PROPERTIES}<o:checksums/><n:has-preview/>`);
/** What RFC 4331 has, and whether there are pictures. */
export const ROOT_PROPERTIES = propfind(`${PROPERTIES}<quota-available-bytes/><quota-used-bytes/><n:has-preview/>`);

const MAX_ETAG_LENGTH = 256;

function propfind(properties: string): string {
  return `<?xml version="1.0" encoding="utf-8"?><propfind xmlns="DAV:" xmlns:o="http://owncloud.org/ns" xmlns:n="http://nextcloud.org/ns"><prop>${properties}</prop></propfind>`;
}

/** @throws AppError STORAGE_UNAVAILABLE for what is no response */
export function readResponse(element: XmlElement): Response {
  const href = textOf(element, 'href');
  if (element.name !== 'response' || href === undefined) throw badAnswer('no response');
  const properties = childrenOf(element, 'propstat')
    .filter((each) => statusOf(textOf(each, 'status')) === 200)
    .flatMap((each) => childrenOf(each, 'prop'))
    .flatMap(({ children }) => children);
  const found = (name: string) => properties.find((each) => each.name === name);
  const type = found('resourcetype');
  const isFolder = type?.children.some(({ name }) => name === 'collection') ?? false;
  const status = statusOf(textOf(element, 'status'));
  const [available, used] = [found('quota-available-bytes'), found('quota-used-bytes')].map((each) => sizeOf(each?.text));
  return {
    segments: segmentsOf(href.trim()),
    status,
    knowsPreviews: found('has-preview') !== undefined,
    quota: available === undefined || used === undefined ? undefined : { availableBytes: available, usedBytes: used },
    resource:
      properties.length === 0
        ? undefined
        : {
            isFolder,
            ...(!isFolder && found('has-preview')?.text.trim() === 'true' && { hasPreview: true }),
            sizeBytes: isFolder ? undefined : sizeOf(found('getcontentlength')?.text),
            modifiedAt: dateOf(found('getlastmodified')?.text),
            version: isFolder ? undefined : versionOf(found('getetag')?.text),
            hashes: isFolder
              ? undefined
              : hashesOf(
                  found('checksums')
                    ?.children.map(({ text }) => text)
                    .join(' '),
                ),
          },
  };
}

/** A path, or an address: of the host in it nothing is asked, for servers behind others do not know their own. Steps such as `..` stay as they are. */
export function segmentsOf(href: string): readonly string[] | undefined {
  const path = href.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, '').replace(/[?#].*$/s, '');
  if (!path.startsWith('/')) return undefined;
  try {
    return path
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeURIComponent);
  } catch {
    // It is no UTF-8.
    return undefined;
  }
}

/** Whether two looks found the same, as far as the server tells. */
export function isSame(one: Resource | undefined, other: Resource | undefined): boolean {
  return (
    one?.isFolder === other?.isFolder &&
    one?.version === other?.version &&
    one?.sizeBytes === other?.sizeBytes &&
    one?.modifiedAt.getTime() === other?.modifiedAt.getTime()
  );
}

function statusOf(line: string | undefined): number | undefined {
  const match = /^\s*HTTP\/[\d.]+\s+(\d{3})\b/.exec(line ?? '');
  return match ? Number(match[1]) : undefined;
}

function sizeOf(text: string | undefined): number | undefined {
  return /^\s*\d{1,15}\s*$/.test(text ?? '') ? Number(text) : undefined;
}

export function dateOf(text: string | undefined): Date {
  const ms = Date.parse(text ?? '');
  return new Date(Number.isNaN(ms) ? 0 : Math.floor(ms / 1000) * 1000);
}

/** A text of its own, whatever blanks it stood in. Weak ones too: Apache calls its own weak within the second of a change. */
export function versionOf(etag: string | undefined): string | undefined {
  const plain = etag
    ?.trim()
    .replace(/^W\//, '')
    .replace(/^"(.*)"$/s, '$1');
  return plain === undefined || plain === '' || plain.length > MAX_ETAG_LENGTH ? undefined : ownText(plain);
}

/** As ownCloud writes them: `SHA1:... MD5:... ADLER32:...`. */
export function hashesOf(text: string | undefined): Hashes | undefined {
  const hashes: { md5?: string; sha1?: string; sha256?: string } = {};
  for (const [, name, digits = ''] of (text ?? '').matchAll(/\b(MD5|SHA1|SHA256):([0-9a-f]+)\b/gi)) {
    const digest = digits.toLowerCase();
    if (name?.toUpperCase() === 'MD5' && digest.length === 32) hashes.md5 = digest;
    if (name?.toUpperCase() === 'SHA1' && digest.length === 40) hashes.sha1 = digest;
    if (name?.toUpperCase() === 'SHA256' && digest.length === 64) hashes.sha256 = digest;
  }
  return Object.keys(hashes).length === 0 ? undefined : hashes;
}
