import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import type { Located } from '../domain/mounts/mount-table.ts';
import type { Mount } from '../domain/mounts/mounts.ts';
import type { Entry } from '../driver-contract/storage-driver.ts';
import type { Thumbnails } from '../thumbnails/thumbnails.ts';
import { evaluatePreconditions } from './preconditions.ts';

/** How often a file is looked at again that is replaced while its thumbnail is made. */
const MAX_LOOKS = 3;
/** Seconds for which a client may show the thumbnail without asking. */
const FRESH_S = 60;

/** The thumbnail of a file, which the caller may read. @throws what Thumbnails throws */
export async function serveThumbnail(
  thumbnails: Thumbnails,
  { mount, path }: Located<Mount>,
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const driver = await mount.driver();
  for (let look = 1; ; look += 1) {
    const entry = await driver.stat(path, { signal });
    if (entry.isDirectory) throw new AppError('IS_A_DIRECTORY', 'not a file');
    const etag = `"thumb-${entry.modifiedAt.getTime().toString(16)}-${entry.sizeBytes?.toString(16) ?? ''}"`;
    const headers = pictureHeaders(entry, etag);
    const verdict = evaluatePreconditions(request.headers, etag, entry.modifiedAt);
    if (verdict !== 'proceed') return void response.writeHead(verdict === 'failed' ? 412 : 304, headers).end();
    try {
      const png = await thumbnails.get(mount, path, entry);
      response.writeHead(200, { ...headers, 'Content-Length': png.byteLength });
      return void response.end(request.method === 'HEAD' ? undefined : png);
    } catch (error) {
      if (!AppError.is(error, 'STALE_VERSION') || look === MAX_LOOKS) throw error;
    }
  }
}

/** We made the thumbnail: it contains nothing that a browser would run. */
function pictureHeaders({ modifiedAt }: Entry, etag: string): Record<string, string> {
  return {
    'Content-Type': 'image/png',
    'Content-Disposition': 'inline; filename="thumbnail.png"',
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Access-Control-Allow-Origin': '*',
    'Cache-Control': `private, max-age=${FRESH_S}`,
    ETag: etag,
    'Last-Modified': modifiedAt.toUTCString(),
  };
}
