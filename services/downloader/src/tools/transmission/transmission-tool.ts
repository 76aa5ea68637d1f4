import { AppError } from '@wharf/errors';
import { listOf } from '@wharf/pace/list-of';
import { z } from 'zod';
import type { ExternalTool } from '../external-tool.ts';
import { isSameFolder } from '../tool-folder.ts';
import { understood } from '../understood.ts';
import type { TransmissionClient } from './transmission-client.ts';

const FIELDS = [
  'hashString',
  'status',
  'percentDone',
  'haveValid',
  'sizeWhenDone',
  'leftUntilDone',
  'metadataPercentComplete',
  'isFinished',
  'error',
  'errorString',
  'downloadDir',
  'peersConnected',
  'addedDate',
];
const torrentShape = z.object({
  hashString: z.string(),
  /** 0 stopped, 1 and 2 checking, 3 and 4 downloading, 5 and 6 seeding (rpc-spec.md). */
  status: z.number(),
  haveValid: z.number(),
  sizeWhenDone: z.number(),
  leftUntilDone: z.number(),
  metadataPercentComplete: z.number(),
  /** It is stopped, as it has seeded for as long as it was to. */
  isFinished: z.boolean().default(false),
  /** 3 is of this machine; 1 and 2 are what trackers say. */
  error: z.number(),
  errorString: z.string(),
  downloadDir: z.string(),
  peersConnected: z.number().default(0),
  /** In seconds. */
  addedDate: z.number().default(0),
});
type Torrent = z.output<typeof torrentShape>;
const sessionShape = z.object({ 'download-dir': z.string() });
const statsShape = z.object({ 'current-stats': z.object({ secondsActive: z.number() }) });
const listShape = z.object({ torrents: listOf(torrentShape) });
const placesShape = z.object({ torrents: listOf(torrentShape.pick({ hashString: true, downloadDir: true })) });
/** SHA-1 as hexadecimal digits, of torrents of version 2 SHA-256: it is kept with the task, and sent with each question. */
const addedShape = z.object({ hashString: z.string().regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/i) });
const LOCAL_ERROR = 3;
/**
 * It waits to seed, or seeds. Nothing is left to it half a second before that, while its files lie in the incomplete-dir, and one that is stopped then stays so:
 * only when Transmission has looked once more, and moved them, it counts as one that seeds (tr_torrentRecheckCompleteness, 3.00 and 4.0).
 */
const SEEDS = new Set([5, 6]);

/** So many seconds may be between the start of Transmission and what it says of that: it is told in whole seconds, by another clock. */
const START_SECONDS = 30;

/** @param nowMs milliseconds; another one is given by tests only */
export function createTransmissionTool(client: TransmissionClient, nowMs: () => number = Date.now): ExternalTool {
  const get = async (id: string, signal: AbortSignal) =>
    understood('Transmission', listShape, await client.call('torrent-get', { ids: [id], fields: FIELDS }, { signal })).torrents[0];
  const remove = async (ids: string[], signal: AbortSignal, deletesFiles: boolean) => {
    await client.call('torrent-remove', { ids, 'delete-local-data': deletesFiles }, { signal });
  };
  /**
   * Whether Transmission was killed and has forgotten where it has this one, which we added: it keeps the torrent itself at once, and the folder only minutes
   * later. Then it came with the start, and to the folder for all. One that somebody else added there since came later, or before.
   */
  const isForgotten = async ({ downloadDir, addedDate }: Torrent, signal: AbortSignal) => {
    const session = understood('Transmission', sessionShape, await client.call('session-get', { fields: ['download-dir'] }, { signal }));
    if (!isSameFolder(downloadDir, session['download-dir'])) return false;
    const stats = understood('Transmission', statsShape, await client.call('session-stats', {}, { signal }))['current-stats'];
    return Math.abs(nowMs() / 1000 - stats.secondsActive - addedDate) <= START_SECONDS;
  };
  return {
    name: 'Transmission',
    kinds: new Set(['magnet', 'torrent'] as const),
    needsReplica: false,
    async add(source, directory, signal) {
      if (source.kind !== 'magnet' && source.kind !== 'torrent')
        throw new AppError('UNSUPPORTED_OPERATION', 'Transmission takes torrents only');
      const what = source.kind === 'magnet' ? { filename: source.url } : { metainfo: source.content.toString('base64') };
      const answer = await client.call('torrent-add', { ...what, 'download-dir': directory, paused: false }, { signal });
      const { hashString } = understood('Transmission', addedShape, answer['torrent-added'] ?? answer['torrent-duplicate']);
      const torrent = await get(hashString, signal);
      if (torrent && !isSameFolder(torrent.downloadDir, directory))
        throw new AppError('FAILED_PRECONDITION', 'this torrent is in Transmission already');
      return hashString;
    },
    async find(id, directory, signal) {
      const torrent = await get(id, signal);
      if (!torrent) return undefined;
      if (!isSameFolder(torrent.downloadDir, directory)) {
        // Begun anew it looks at what it has in its own folder. What it fetched to the other one stays: files of others may be there, under the same names.
        if (await isForgotten(torrent, signal)) await remove([id], signal, false);
        return undefined;
      }
      const hasSeeded = torrent.status === 0 && torrent.isFinished;
      const isComplete = torrent.metadataPercentComplete === 1 && torrent.leftUntilDone === 0 && (SEEDS.has(torrent.status) || hasSeeded);
      const isFailed = torrent.error === LOCAL_ERROR;
      return {
        state: isFailed ? 'failed' : isComplete ? 'complete' : torrent.status === 0 ? 'paused' : 'active',
        doneBytes: torrent.haveValid,
        totalBytes: torrent.sizeWhenDone,
        detail: `${torrent.peersConnected} peers`,
        error: isFailed ? `Transmission says: ${torrent.errorString.slice(0, 200)}` : '',
      };
    },
    async pause(id, signal) {
      await client.call('torrent-stop', { ids: [id] }, { signal });
    },
    async resume(id, signal) {
      await client.call('torrent-start', { ids: [id] }, { signal });
    },
    async remove(id, directory, signal, deletesFiles = false) {
      const torrent = await get(id, signal);
      if (!torrent) return;
      if (isSameFolder(torrent.downloadDir, directory)) return remove([id], signal, deletesFiles);
      if (!(await isForgotten(torrent, signal))) return;
      // Else it would remove files of others from the folder for all.
      await client.call('torrent-set-location', { ids: [id], location: directory, move: false }, { signal });
      await remove([id], signal, deletesFiles);
    },
    async removeFrom(directory, signal, deletesFiles = false) {
      const asked = { fields: ['hashString', 'downloadDir'] };
      const all = understood('Transmission', placesShape, await client.call('torrent-get', asked, { signal }));
      const left = all.torrents.filter(({ downloadDir }) => isSameFolder(downloadDir, directory));
      // No ids at all would be all that there are.
      if (left.length > 0)
        await remove(
          left.map(({ hashString }) => hashString),
          signal,
          deletesFiles,
        );
    },
    version: (signal) => client.version({ signal }),
  };
}
