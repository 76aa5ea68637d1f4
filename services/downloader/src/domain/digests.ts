import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '@wharf/errors';

/** Digests by algorithm (`md5`, `sha1`, `sha256`, `sha512`), in lower-case hexadecimal. */
export type Digests = Readonly<Record<string, string>>;

/** Algorithms as headers call them, with their own names and lengths in bytes. Others are passed over. */
const ALGORITHMS: Readonly<Record<string, { readonly name: string; readonly bytes: number }>> = {
  md5: { name: 'md5', bytes: 16 },
  sha: { name: 'sha1', bytes: 20 },
  'sha-256': { name: 'sha256', bytes: 32 },
  'sha-512': { name: 'sha512', bytes: 64 },
};

/**
 * Digests as a caller gives them, by algorithm (`md5`, `sha1`, `sha256`, `sha512`), in hexadecimal; empty ones are passed over. @throws
 * AppError INVALID_ARGUMENT
 */
export function parseDigests(given: Readonly<Record<string, string>>): Digests {
  const digests: Record<string, string> = {};
  for (const [name, text] of Object.entries(given)) {
    const value = text.trim().toLowerCase();
    if (value === '') continue;
    const known = Object.values(ALGORITHMS).find((algorithm) => algorithm.name === name);
    if (!known || value.length !== known.bytes * 2 || !/^[0-9a-f]+$/.test(value))
      throw new AppError('INVALID_ARGUMENT', `this is no hash of ${name.slice(0, 20)}`);
    digests[name] = value;
  }
  return digests;
}

/**
 * The digests of the whole file that an answer names: Repr-Digest (RFC 9530), Digest (RFC 3230) and, where the body is the whole file,
 * Content-Digest and Content-MD5. A header that cannot be read is ignored.
 */
export function readDigests(headers: IncomingHttpHeaders, isWhole: boolean): Digests {
  const digests: Record<string, string> = {};
  const add = (algorithm: string, base64: string) => {
    const known = ALGORITHMS[algorithm.trim().toLowerCase()];
    const bytes = Buffer.from(base64, 'base64');
    if (known && bytes.length === known.bytes) digests[known.name] = bytes.toString('hex');
  };
  const structured = [headers['repr-digest'], isWhole ? headers['content-digest'] : undefined];
  for (const part of structured.flatMap((header) => String(header ?? '').split(','))) {
    const [algorithm = '', value, end] = part.split(':', 3);
    if (value !== undefined && end !== undefined && algorithm.endsWith('=')) add(algorithm.slice(0, -1), value);
  }
  for (const part of String(headers.digest ?? '').split(',')) {
    const at = part.indexOf('=');
    if (at > 0) add(part.slice(0, at), part.slice(at + 1).trim());
  }
  if (isWhole && typeof headers['content-md5'] === 'string') add('md5', headers['content-md5']);
  return digests;
}
