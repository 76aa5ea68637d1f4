import { AppError } from '@wharf/errors';
import { readThumbnail } from '../../driver-contract/answers.ts';
import type { ThumbnailOptions } from '../../driver-contract/storage-driver.ts';
import { isAway, storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';
import type { Place, WebdavClient } from './client.ts';
import { userFolderOf } from './user-folder.ts';

/** The small pictures that a Nextcloud makes of its files. */
export interface Previews {
  /** @throws AppError UNSUPPORTED_OPERATION (it makes none of this file) | CONTENT_CORRUPT (it is too large) */
  get(place: Place, options: ThumbnailOptions): Promise<Uint8Array>;
}

/**
 * Nextcloud says of each entry whether there is a picture of it (`has-preview`), and hands pictures over at an address of its own, by the path of the file
 * below the first folder of its user: https://docs.nextcloud.com/server/latest/developer_manual/client_apis/WebDAV/basic.html.
 *
 * @param root of the storage. @param knowsPreviews the server has said that of the root
 * @returns undefined: the server has none
 */
export function previewsOf(client: WebdavClient, root: URL, knowsPreviews: boolean): Previews | undefined {
  const folder = knowsPreviews ? userFolderOf(root) : undefined;
  if (folder === undefined) return undefined;
  const { server, below } = folder;
  return {
    async get(place, { widthPixels, maxBytes, signal }) {
      const url = new URL('index.php/core/preview.png', server);
      const file = [...below.map((name) => `/${name}`), place].join('');
      const side = String(widthPixels);
      // `a`: nothing is cut off. No icon stands in for a picture.
      url.search = new URLSearchParams({ file, x: side, y: side, a: '1', forceIcon: '0' }).toString();
      const answer = await client.ask({ method: 'GET', url, signal }).catch((error: unknown) => {
        throwIfAborted(signal);
        if (isAway(error) || AppError.is(error, 'STORAGE_LOGIN_FAILED')) throw error;
        throw storageError('UNSUPPORTED_OPERATION', error);
      });
      return readThumbnail(answer, signal, maxBytes);
    },
  };
}
