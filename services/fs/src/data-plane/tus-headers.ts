import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '@wharf/errors';
import type { BodyCheck } from '../domain/uploads/append-stream.ts';
import { readUploadHeaders, requireUnconditional } from './upload-headers.ts';

/** Digests that a body may be sent with. */
export const CHECKSUM_ALGORITHMS = ['md5', 'sha1', 'sha256'] as const;
const MAX_METADATA_CHARACTERS = 8_192;

/** A number of bytes in a header. @throws AppError INVALID_ARGUMENT */
export function readBytes(headers: IncomingHttpHeaders, name: string): number {
  const text = headers[name];
  const bytes = Number(text);
  if (typeof text !== 'string' || !/^\d+$/.test(text) || !Number.isSafeInteger(bytes))
    throw new AppError('INVALID_ARGUMENT', `${name} must be a number of bytes`);
  return bytes;
}

/** What is said of a new upload: as for `put`, where File-Path may also be the metadata `path`, and a folder ends with a slash. */
export function readNewUpload(headers: IncomingHttpHeaders) {
  requireUnconditional(headers);
  const metadata = headers['upload-metadata'] ?? '';
  if (typeof metadata !== 'string' || metadata.length > MAX_METADATA_CHARACTERS)
    throw new AppError('INVALID_ARGUMENT', 'Upload-Metadata is too long');
  const said = readMetadata(metadata);
  const path = said.get('path');
  const { password = '', ...asked } = readUploadHeaders(
    (headers['file-path'] ?? '') === '' && path !== undefined ? { ...headers, 'file-path': encodeURIComponent(path) } : headers,
  );
  const name = said.get('filename') ?? said.get('name') ?? '';
  return { ...asked, password, metadata, path: asked.path.endsWith('/') ? `${asked.path}${name}` : asked.path };
}

/** Pairs of a key and a text in base64. @throws AppError INVALID_ARGUMENT */
function readMetadata(header: string): ReadonlyMap<string, string> {
  const pairs = header.split(',').map((pair) => pair.trim().split(/\s+/));
  if (header !== '' && pairs.some(([key, , more]) => key === undefined || key === '' || more !== undefined))
    throw new AppError('INVALID_ARGUMENT', 'Upload-Metadata must be pairs of a key and a value in base64');
  return new Map(pairs.map(([key = '', value = '']) => [key, Buffer.from(value, 'base64').toString('utf8')]));
}

/** What a body is held against. `hasFailed` afterwards says that it is another one. @throws AppError INVALID_ARGUMENT: no such algorithm */
export function readChecksum(headers: IncomingHttpHeaders): (BodyCheck & { hasFailed: boolean }) | undefined {
  const header = headers['upload-checksum'];
  if (header === undefined) return undefined;
  const [name, digest] = String(header).split(' ');
  const algorithm = CHECKSUM_ALGORITHMS.find((known) => known === name);
  if (!algorithm || digest === undefined)
    throw new AppError('INVALID_ARGUMENT', 'Upload-Checksum must be an algorithm and a digest in base64');
  const hash = createHash(algorithm);
  return {
    hasFailed: false,
    update: (chunk) => void hash.update(chunk),
    verify() {
      this.hasFailed = hash.digest('base64') !== digest;
      if (this.hasFailed) throw new AppError('INVALID_ARGUMENT', `the body does not have the announced ${algorithm} digest`);
    },
  };
}

/** The ids of `final;<url> <url>`; undefined where the upload is not put together of others. @throws AppError INVALID_ARGUMENT */
export function readConcat(headers: IncomingHttpHeaders): { isPartial: boolean; ids: readonly string[] } {
  const header = headers['upload-concat'];
  if (header === undefined) return { isPartial: false, ids: [] };
  if (header === 'partial') return { isPartial: true, ids: [] };
  const urls = /^final;\s*(\S.*)$/.exec(String(header))?.[1]?.trim().split(/\s+/) ?? [];
  if (urls.length === 0)
    throw new AppError('INVALID_ARGUMENT', 'Upload-Concat must be partial, or final with the addresses of partial uploads');
  return { isPartial: false, ids: urls.map((url) => url.split('/').at(-1) ?? '') };
}
