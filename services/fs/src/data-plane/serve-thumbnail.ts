import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '@wharf/errors';
import type { Located } from '../domain/mounts/mount-table.ts';
import type { Mount } from '../domain/mounts/mounts.ts';
import { type Entry, supports } from '../driver-contract/storage-driver.ts';
import type { Asker } from '../thumbnails/joint-turn.ts';
import type { Thumbnails } from '../thumbnails/thumbnails.ts';
import { evaluatePreconditions } from './preconditions.ts';

/** How often a file is looked at again that is replaced while its thumbnail is made. */
const MAX_LOOKS = 3;
/** Seconds for which a client may show the thumbnail without asking. */
const FRESH_S = 60;

/** Asked before anything of the file is told. */
export interface Admission {
  /** @throws AppError UNAUTHENTICATED | MOUNT_NOT_FOUND: the link is good no more */
  readonly mayAnswer: () => Promise<void>;
}

/** What may be shown small. */
export interface OfferedThumbnail {
  /** Whether the file may be a picture that we can read. */
  readonly isPicture: boolean;
  /** Whether a file has a thumbnail. */
  readonly isThere: (entry: Entry) => boolean;
}

/**
 * The thumbnail of a file, which the caller may read.
 *
 * @returns false, before anything is answered: the file has none
 * @throws what Thumbnails throws, and `asker.mayAnswer`
 */
export async function serveThumbnail(
  thumbnails: Thumbnails,
  { mount, path }: Located<Mount>,
  { isPicture, isThere }: OfferedThumbnail,
  request: IncomingMessage,
  response: ServerResponse,
  asker: Asker & Admission,
): Promise<boolean> {
  const driver = await mount.driver();
  if (!supports(driver, 'thumbnail') && mount.thumbnails === undefined) return false;
  for (let look = 1; ; look += 1) {
    const entry = await driver.stat(path, asker);
    await asker.mayAnswer();
    if (entry.isDirectory) throw new AppError('IS_A_DIRECTORY', 'not a file');
    if (!isThere(entry)) return false;
    const etag = `"thumb-${entry.modifiedAt.getTime().toString(16)}-${entry.sizeBytes?.toString(16) ?? ''}"`;
    const headers = pictureHeaders(entry, etag);
    const verdict = evaluatePreconditions(request.headers, etag, entry.modifiedAt);
    if (verdict !== 'proceed') {
      response.writeHead(verdict === 'failed' ? 412 : 304, headers).end();
      return true;
    }
    try {
      const png = await thumbnails.get(mount, path, entry, isPicture, asker);
      await asker.mayAnswer();
      response.writeHead(200, { ...headers, 'Content-Length': png.byteLength });
      response.end(request.method === 'HEAD' ? undefined : png);
      return true;
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
