import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canRead, type ViewFolder } from '../probe-folder.ts';
import type { Aria2Client } from './aria2-client.ts';

const statusShape = z.object({ dir: z.string() });

/** aria2 keeps a torrent file that it is given, on demand, beside where its content would go: written there, nothing fetched. */
export function viewFolderOfAria2(client: Aria2Client): ViewFolder {
  return async ({ folder, torrent, signal }) => {
    const options = { dir: folder.path, pause: 'true', 'rpc-save-upload-metadata': 'true' };
    const id = z.string().parse(await client.call('aria2.addTorrent', [torrent.content.toString('base64'), [], options], { signal }));
    try {
      // Its manual names the file: the SHA-1 of the content.
      const isThere = await canRead(folder, `${createHash('sha1').update(torrent.content).digest('hex')}.torrent`);
      if (isThere) return 'shared';
      const { dir } = statusShape.parse(await client.call('aria2.tellStatus', [id, ['dir']], { signal }));
      return dir === folder.path ? 'apart' : 'unknown';
    } finally {
      await client.call('aria2.forceRemove', [id]).catch(() => undefined);
      await client.call('aria2.removeDownloadResult', [id]).catch(() => undefined);
    }
  };
}
