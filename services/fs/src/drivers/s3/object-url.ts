import { withoutEnd } from '@wharf/pace';
import { storageError } from '../../driver-contract/storage-error.ts';
import type { S3Settings } from './config.ts';

/** The address of a key, or of the bucket for an empty one. @throws AppError INVALID_ARGUMENT for a key that no address leads to */
export function objectUrl({ endpoint, bucket, isPathStyle }: S3Settings, key: string): URL {
  return isPathStyle ? urlBelow(endpoint, `${bucket}/${key}`) : urlBelow(withBucket(endpoint, bucket), key);
}

/** The same at the host that download links name. */
export function linkUrl(settings: S3Settings, key: string): URL {
  const { bucket, isPathStyle, links } = settings;
  if (!links.customHost) return objectUrl(settings, key);
  return urlBelow(links.customHost, isPathStyle && !links.leavesBucketOut ? `${bucket}/${key}` : key);
}

function withBucket(endpoint: URL, bucket: string): URL {
  return new URL(`${endpoint.protocol}//${bucket}.${endpoint.host}${endpoint.pathname}`);
}

/** Parsers of addresses take `.` and `..` for steps: a key with these would lead elsewhere. */
function urlBelow(base: URL, key: string): URL {
  const path = `${withoutEnd(base.pathname, '/')}/${key.split('/').map(encodeText).join('/')}`;
  const url = new URL(base);
  url.pathname = path;
  if (url.pathname !== path) throw storageError('INVALID_ARGUMENT');
  return url;
}

/** Everything but unreserved characters, as signatures have it (RFC 3986). */
export function encodeText(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}
