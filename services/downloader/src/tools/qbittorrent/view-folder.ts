import { setTimeout as delay } from 'node:timers/promises';
import { listOf } from '@wharf/pace/list-of';
import { z } from 'zod';
import { canRead, type ViewFolder } from '../probe-folder.ts';
import { isSameFolder } from '../tool-folder.ts';
import type { QbittorrentClient } from './qbittorrent-client.ts';

const infoShape = listOf(
  z.object({ hash: z.string(), state: z.string(), amount_left: z.number(), save_path: z.string(), download_path: z.string().optional() }),
);
const preferencesShape = z.object({ temp_path_enabled: z.boolean() });

/** The torrent would be fetched: qBittorrent has checked the folder and not found the file. */
const WOULD_FETCH = new Set(['downloading', 'stalledDL', 'forcedDL']);
const FAILED = new Set(['error', 'missingFiles']);
const LOOK_MS = 250;
/** So many looks in a row must show the same: right after a torrent is added its state changes quickly. */
const SURE_LOOKS = 8;

/**
 * qBittorrent gets a torrent whose file we have put where it goes: it says whether it finds the file, and creates the empty one beside it.
 */
export function viewFolderOfQbittorrent(client: QbittorrentClient): ViewFolder {
  return async ({ folder, torrent, signal }) => {
    const find = async () => {
      const all = infoShape.parse(JSON.parse(await client.get('torrents/info', { hashes: torrent.hash }, { signal })));
      return all.find(({ hash }) => hash.toLowerCase() === torrent.hash);
    };
    const form = new FormData();
    form.set('torrents', new Blob([new Uint8Array(torrent.content)], { type: 'application/x-bittorrent' }), `${torrent.hash}.torrent`);
    form.set('savepath', folder.path);
    form.set('useDownloadPath', 'false');
    form.set('autoTMM', 'false');
    form.set('paused', 'false');
    form.set('stopped', 'false');
    form.set('stopCondition', 'None');
    form.set('contentLayout', 'Original');
    form.set('root_folder', 'true');
    await client.post('torrents/add', form, { signal });
    try {
      for (let fetching = 0; ; ) {
        const found = await find();
        const isHere = found && isSameFolder(found.save_path, folder.path);
        if (found && isHere && FAILED.has(found.state)) return 'apart';
        if (found && isHere && found.amount_left === 0) {
          await canRead(folder, torrent.name, torrent.emptyName);
          return 'shared';
        }
        fetching = found && isHere && WOULD_FETCH.has(found.state) ? fetching + 1 : 0;
        if (fetching >= SURE_LOOKS) {
          // Before 4.4 unfinished torrents could be told to be elsewhere only for all of them.
          if (found?.download_path !== undefined) return 'apart';
          const { temp_path_enabled } = preferencesShape.parse(JSON.parse(await client.get('app/preferences', {}, { signal })));
          return temp_path_enabled ? 'unknown' : 'apart';
        }
        await delay(LOOK_MS, undefined, { signal });
      }
    } finally {
      await client.post('torrents/delete', { hashes: torrent.hash, deleteFiles: 'true' }).catch(() => undefined);
    }
  };
}
