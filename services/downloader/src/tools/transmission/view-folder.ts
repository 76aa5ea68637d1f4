import { AppError } from '@wharf/errors';
import { z } from 'zod';
import type { FolderProbe, FolderView, ViewFolder } from '../probe-folder.ts';
import type { TransmissionClient } from './transmission-client.ts';

const sessionShape = z.object({ 'download-dir': z.string() });
const spaceShape = z.object({ 'size-bytes': z.number() });
const MAY_NOT_WRITE = /permission denied|read-only|not permitted/i;

/** Transmission tells the room in a folder that it sees; then it gets a torrent whose file we have put there, and is to rename that file. */
export function viewFolderOfTransmission(client: TransmissionClient): ViewFolder {
  return async (probe) => {
    const { folder, signal } = probe;
    const sees = async (path: string) => {
      try {
        return spaceShape.parse(await client.call('free-space', { path }, { signal }))['size-bytes'] >= 0;
      } catch (error) {
        if (AppError.is(error, 'FAILED_PRECONDITION')) return false;
        throw error;
      }
    };
    if (await sees(folder.path)) return viewFile(client, probe);
    // One that answers for no folder at all has told nothing.
    const session = sessionShape.parse(await client.call('session-get', { fields: ['download-dir'] }, { signal }));
    return (await sees(session['download-dir'])) ? 'apart' : 'unknown';
  };
}

async function viewFile(client: TransmissionClient, { folder, torrent, signal }: FolderProbe): Promise<FolderView> {
  const ids = [torrent.hash];
  const metainfo = torrent.content.toString('base64');
  await client.call('torrent-add', { metainfo, 'download-dir': folder.path, paused: true }, { signal });
  try {
    const path = `${torrent.name}/${torrent.fileName}`;
    await client.call('torrent-rename-path', { ids, path, name: `${torrent.fileName}-renamed` }, { signal });
    return 'shared';
  } catch (error) {
    if (AppError.is(error, 'FAILED_PRECONDITION') && MAY_NOT_WRITE.test(error.message)) return 'apart';
    throw error;
  } finally {
    await client.call('torrent-remove', { ids, 'delete-local-data': true }).catch(() => undefined);
  }
}
