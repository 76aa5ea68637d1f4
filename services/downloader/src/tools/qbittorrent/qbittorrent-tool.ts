import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { listOf, parseJson } from '@wharf/pace';
import { z } from 'zod';
import type { ExternalTool, ToolStatus } from '../external-tool.ts';
import { isSameFolder } from '../tool-folder.ts';
import { understood } from '../understood.ts';
import type { QbittorrentClient } from './qbittorrent-client.ts';

const infoShape = listOf(
  z.object({
    hash: z.string(),
    state: z.string(),
    progress: z.number(),
    completed: z.number(),
    amount_left: z.number(),
    size: z.number(),
    save_path: z.string(),
    num_seeds: z.number().default(0),
  }),
);

/** States of a torrent whose data is whole: 4.x calls them paused, 5.x stopped. */
const COMPLETE = new Set(['uploading', 'stalledUP', 'queuedUP', 'forcedUP', 'pausedUP', 'stoppedUP']);
const PAUSED = new Set(['pausedDL', 'stoppedDL']);
const FAILED = new Set(['error', 'missingFiles']);
const NAMES_OF = { pause: ['torrents/stop', 'torrents/pause'], resume: ['torrents/start', 'torrents/resume'] } as const;
/** How often a torrent that was just added is looked for. */
const LOOKS = 40;
const LOOK_MS = 250;
/** The same of one whose adding was broken off, and which may never come. */
const LEFT_LOOKS = 8;
/** Those of ours that came last: the answer has room for them. */
const OURS = { tag: 'wharf', sort: 'added_on', reverse: 'true', limit: '1000' } as const;

/** @param pause between two looks; another one is given by tests only */
export function createQbittorrentTool(client: QbittorrentClient, pause: (ms: number) => Promise<unknown> = delay): ExternalTool {
  const list = async (which: Readonly<Record<string, string>>, signal?: AbortSignal) =>
    understood('qBittorrent', infoShape, parseJson(await client.get('torrents/info', which, signal ? { signal } : {})));
  const info = async (hash: string, signal?: AbortSignal) =>
    (await list({ hashes: hash }, signal)).find((torrent) => torrent.hash.toLowerCase() === hash);
  /** What of ours has this id. */
  const find = async (hash: string, directory: string, signal?: AbortSignal) => {
    const torrent = await info(hash, signal);
    return torrent && isSameFolder(torrent.save_path, directory) ? torrent : undefined;
  };
  return {
    name: 'qBittorrent',
    kinds: new Set(['magnet', 'torrent'] as const),
    needsReplica: false,
    async requireNew(source, directory, signal) {
      const known = 'hash' in source && (await info(source.hash, signal));
      if (known) requireIn(directory, known);
    },
    async add(source, directory, signal) {
      if (source.kind !== 'magnet' && source.kind !== 'torrent')
        throw new AppError('UNSUPPORTED_OPERATION', 'qBittorrent takes torrents only');
      const { hash } = source;
      const form = new FormData();
      if (source.kind === 'magnet') form.set('urls', source.url);
      else form.set('torrents', new Blob([new Uint8Array(source.content)], { type: 'application/x-bittorrent' }), `${hash}.torrent`);
      form.set('savepath', directory);
      form.set('autoTMM', 'false');
      form.set('paused', 'false');
      form.set('stopped', 'false');
      form.set('contentLayout', 'Original');
      form.set('root_folder', 'true');
      form.set('tags', OURS.tag);
      const known = await info(hash, signal);
      if (!known) await client.post('torrents/add', form, { signal });
      for (let look = 0; look < LOOKS; look++) {
        const torrent = known ?? (await info(hash, signal));
        if (torrent) {
          requireIn(directory, torrent);
          return hash;
        }
        await pause(LOOK_MS);
        signal.throwIfAborted();
      }
      throw new AppError('FAILED_PRECONDITION', 'qBittorrent did not take the torrent');
    },
    async find(id, directory, signal): Promise<ToolStatus | undefined> {
      const torrent = await find(id, directory, signal);
      if (!torrent) return undefined;
      const isComplete = COMPLETE.has(torrent.state) && torrent.amount_left === 0 && torrent.size > 0;
      const isFailed = FAILED.has(torrent.state);
      return {
        state: isComplete ? 'complete' : isFailed ? 'failed' : PAUSED.has(torrent.state) ? 'paused' : 'active',
        doneBytes: torrent.completed,
        totalBytes: Math.max(0, torrent.size),
        detail: `${torrent.state}, ${torrent.num_seeds} seeds`,
        error: isFailed ? `qBittorrent says ${torrent.state}` : '',
      };
    },
    pause: (id) => callOne(client, NAMES_OF.pause, id),
    resume: (id) => callOne(client, NAMES_OF.resume, id),
    async remove(id, directory) {
      if (await find(id, directory)) await remove(client, [id]);
    },
    async removeFrom(directory) {
      for (let look = 0; look < LEFT_LOOKS; look++) {
        if (look > 0) await pause(LOOK_MS);
        const left = (await list(OURS)).filter((torrent) => isSameFolder(torrent.save_path, directory));
        if (left.length > 0)
          return remove(
            client,
            left.map(({ hash }) => hash),
          );
      }
    },
    version: (signal) => client.version({ signal }),
  };
}

/** 5.x renamed the calls; the old names are gone there. */
async function callOne(client: QbittorrentClient, names: readonly string[], hash: string): Promise<void> {
  for (const name of names) {
    try {
      await client.post(name, { hashes: hash });
      return;
    } catch (error) {
      if (!AppError.is(error, 'FAILED_PRECONDITION') || error.details.status !== 404) throw error;
    }
  }
}

/** Files stay. */
async function remove(client: QbittorrentClient, hashes: readonly string[]): Promise<void> {
  await client.post('torrents/delete', { hashes: hashes.join('|'), deleteFiles: 'false' });
}

/** @throws AppError FAILED_PRECONDITION: it is somebody else's */
function requireIn(directory: string, torrent: { readonly save_path: string }): void {
  if (!isSameFolder(torrent.save_path, directory)) throw new AppError('FAILED_PRECONDITION', 'this torrent is in qBittorrent already');
}
