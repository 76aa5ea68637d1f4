import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '@wharf/errors';
import type { UploadRequest } from '../domain/changing/upload.ts';
import type { Hashes } from '../driver-contract/storage-driver.ts';
import { nameOf, replaceConditions } from './preconditions.ts';

/** Hexadecimal digits of each digest. */
const DIGESTS = [
  { name: 'md5', header: 'x-file-md5', length: 32 },
  { name: 'sha1', header: 'x-file-sha1', length: 40 },
  { name: 'sha256', header: 'x-file-sha256', length: 64 },
] as const;

/** What says which file an upload is, and what is to become of it. */
const TELLING = [
  ...['file-path', 'x-file-size', 'last-modified', 'password', 'as-task'],
  ...['overwrite', 'if-match', 'if-none-match', 'if-unmodified-since', 'keep-last-modified', ...DIGESTS.map(({ header }) => header)],
];

/** What tells an upload from others, as far as its headers do. */
export function whatIsPut(route: string, headers: IncomingHttpHeaders): unknown[] {
  return [route, lengthOf(headers), ...TELLING.map((name) => headers[name] ?? null)];
}

/** Of the body; of a form without the boundaries around its file, which programs make up anew, and browsers of another length, where they send it again. */
function lengthOf({ 'content-length': length, 'content-type': type = '' }: IncomingHttpHeaders): number | null {
  if (length === undefined) return null;
  const [, boundary = ''] = /^multipart\/form-data\b.*;\s*boundary="?([^";]+)/i.exec(type) ?? [];
  return Number(length) - 2 * boundary.length;
}

/** What the headers of an upload say (docs/api-family.md#upload-headers). @throws AppError INVALID_ARGUMENT naming the header */
export function readUploadHeaders(headers: IncomingHttpHeaders): Omit<UploadRequest, 'sizeBytes'> {
  return {
    path: readFilePath(headers['file-path']),
    // The second is what HTTP has for it (RFC 9110, 13.1.2).
    overwrite: headers.overwrite !== 'false' && headers['if-none-match'] !== '*',
    password: readPassword(headers.password),
    modifiedAt: readTime(headers['last-modified']),
    expectedHashes: readHashes(headers),
  };
}

/**
 * Bytes that a raw body will have: its own length, or what the client says beforehand; undefined when neither is known.
 *
 * @throws AppError INVALID_ARGUMENT: it is a part of the file alone | CONTENT_CORRUPT: something on the way has cut the body, and given it another length
 */
export function readBodySize(headers: IncomingHttpHeaders): number | undefined {
  // Who goes on with an upload that broke off has the rest in the body: it would be stored as the file.
  if (isPart(headers['content-range']))
    throw new AppError('INVALID_ARGUMENT', 'Content-Range: a part of a file cannot be put; send the whole file, or use an upload in parts');
  const announced = headers['content-length'] ?? headers['x-file-size'];
  if (typeof announced !== 'string' || announced === '') return undefined;
  const size = Number(announced);
  if (!/^\d+$/.test(announced) || !Number.isSafeInteger(size))
    throw new AppError('INVALID_ARGUMENT', 'X-File-Size must be a number of bytes');
  if (Number(headers['x-file-size']) > size) throw new AppError('CONTENT_CORRUPT', 'the content is shorter than X-File-Size says');
  return size;
}

/** For uploads in parts, which replace the file whatever it is by then. @throws AppError INVALID_ARGUMENT */
export function requireUnconditional(headers: IncomingHttpHeaders): void {
  const conditions = replaceConditions(headers);
  if (conditions) throw new AppError('INVALID_ARGUMENT', `${nameOf(conditions)}: an upload in parts cannot heed it; put the whole file`);
}

/** @see RFC 9110, 14.5: a server that does not take parts refuses them. */
function isPart(range: string | undefined): boolean {
  if (range === undefined) return false;
  const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(range) ?? [];
  return Number(first) !== 0 || Number(last) + 1 !== Number(size);
}

/**
 * The target path. Clients percent-encode it, or send it as plain UTF-8, which Node shows as latin1; a text that is no percent-encoding is
 * taken as it stands. `+` stays `+`.
 */
function readFilePath(value: string | string[] | undefined): string {
  if (typeof value !== 'string' || value === '')
    throw new AppError('INVALID_ARGUMENT', 'File-Path is required: the percent-encoded target path');
  const text = decodeUtf8(value);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The header is plain UTF-8, which Node shows as latin1. A header in another encoding matches no password. */
export function readPassword(value: string | string[] | undefined): string {
  return typeof value === 'string' ? Buffer.from(value, 'latin1').toString('utf8') : '';
}

function decodeUtf8(latin1: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(latin1, 'latin1'));
  } catch (cause) {
    throw new AppError('INVALID_ARGUMENT', 'File-Path must be UTF-8, percent-encoded or plain', { cause });
  }
}

/** Milliseconds since 1970. Other forms are passed over, as the family does: a date of its own must not stop an upload. */
function readTime(value: string | string[] | undefined): Date | undefined {
  if (typeof value !== 'string' || !/^\d{1,15}$/.test(value.trim())) return undefined;
  const time = new Date(Number(value));
  return Number.isNaN(time.getTime()) ? undefined : time;
}

function readHashes(headers: IncomingHttpHeaders): Hashes {
  const hashes: Record<string, string> = {};
  for (const { name, header, length } of DIGESTS) {
    const value = headers[header];
    if (typeof value !== 'string' || value === '') continue;
    if (value.length !== length || !/^[0-9a-f]+$/i.test(value))
      throw new AppError('INVALID_ARGUMENT', `X-File-${name} must be ${length} hexadecimal digits`);
    hashes[name] = value.toLowerCase();
  }
  return hashes;
}
