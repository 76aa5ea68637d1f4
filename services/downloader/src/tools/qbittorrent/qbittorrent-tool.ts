import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@wharf/errors';
import { parseJson } from '@wharf/pace';
import { listOf } from '@wharf/pace/list-of';
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
    // Since 4.4; empty where it has none.
    infohash_v1: z.string().default(''),
    infohash_v2: z.string().default(''),
  }),
);

/** States of a torrent whose data is whole: 4.x calls them paused, 5.x stopped. */
const COMPLETE = new Set(['uploading', 'stalledUP', 'queuedUP', 'forcedUP', 'pausedUP', 'stoppedUP']);
const PAUSED = new Set(['pausedDL', 'stoppedDL']);
const FAILED = new Set(['error', 'missingFiles']);
const NAMES_OF = { pause: ['torrents/stop', 'torrents/pause'], resume: ['torrents/start', 'torrents/resume'] } as const;
/** A torrent's own: kept with the task, and sent with each question. */
const ID = /^[0-9a-f]{40}$/i;
/** How often a torrent that was just added is looked for. */
const LOOKS = 40;
const LOOK_MS = 250;
/** No longer than this where each answer takes long, in milliseconds: others wait meanwhile for what they hand over. */
const LOOKS_MS = 15_000;
/** The same of one whose adding was broken off, and which may never come. */
const LEFT_LOOKS = 8;
/** Those of ours that came last: the answer has room for them. */
const OURS = { tag: 'wharf', sort: 'added_on', reverse: 'true', limit: '1000' } as const;

/**
 * @param pause between two looks, and @param nowMs milliseconds, monotonic: others are given by tests only
 */
export function createQbittorrentTool(
  client: QbittorrentClient,
  pause: (ms: number) => Promise<unknown> = delay,
  nowMs = () => performance.now(),
): ExternalTool {
  const list = async (which: Readonly<Record<string, string>>, signal: AbortSignal) =>
    understood('qBittorrent', infoShape, parseJson(await client.get('torrents/info', which, { signal })));
  const info = async (hashes: readonly string[], signal: AbortSignal) =>
    (await list({ hashes: hashes.join('|') }, signal)).find((torrent) => hashes.includes(torrent.hash.toLowerCase()));
  /** The same of one of ours of both versions: it is known by its v1 hash until it has its metadata, and then by the other one. */
  const infoOfBoth = async (hashes: readonly string[], signal: AbortSignal) =>
    (await info(hashes, signal)) ??
    (await list(OURS, signal)).find((torrent) => ID.test(torrent.hash) && hashes.some((hash) => hashesOf(torrent).includes(hash)));
  /** What of ours has this id, or had it. */
  const find = async (hash: string, directory: string, signal: AbortSignal) => {
    const torrent = await infoOfBoth([hash], signal);
    return torrent && isSameFolder(torrent.save_path, directory) ? torrent : undefined;
  };
  return {
    name: 'qBittorrent',
    kinds: new Set(['magnet', 'torrent'] as const),
    needsReplica: false,
    async requireNew(source, directory, signal) {
      const known = 'hash' in source && (await info(namesOf(source), signal));
      if (known) requireIn(directory, known);
    },
    async add(source, directory, signal) {
      if (source.kind !== 'magnet' && source.kind !== 'torrent')
        throw new AppError('UNSUPPORTED_OPERATION', 'qBittorrent takes torrents only');
      const names = namesOf(source);
      const form = new FormData();
      if (source.kind === 'magnet') form.set('urls', source.url);
      else form.set('torrents', new Blob([new Uint8Array(source.content)], { type: 'application/x-bittorrent' }), `${source.hash}.torrent`);
      form.set('savepath', directory);
      form.set('autoTMM', 'false');
      form.set('paused', 'false');
      form.set('stopped', 'false');
      form.set('contentLayout', 'Original');
      form.set('root_folder', 'true');
      form.set('tags', OURS.tag);
      const known = await infoOfBoth(names, signal);
      if (!known) await client.post('torrents/add', form, { signal });
      const untilMs = nowMs() + LOOKS_MS;
      for (let look = 0; look < LOOKS && nowMs() < untilMs; look++) {
        const torrent = known ?? (await (look % LEFT_LOOKS === LEFT_LOOKS - 1 ? infoOfBoth : info)(names, signal));
        if (torrent) {
          requireIn(directory, torrent);
          return torrent.hash.toLowerCase();
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
      const now = torrent.hash.toLowerCase();
      return {
        state: isComplete ? 'complete' : isFailed ? 'failed' : PAUSED.has(torrent.state) ? 'paused' : 'active',
        doneBytes: torrent.completed,
        totalBytes: Math.max(0, torrent.size),
        detail: `${torrent.state}, ${torrent.num_seeds} seeds`,
        error: isFailed ? `qBittorrent says ${torrent.state}` : '',
        ...(now === id ? {} : { followedBy: now }),
      };
    },
    pause: (id, signal) => callOne(client, NAMES_OF.pause, id, signal),
    resume: (id, signal) => callOne(client, NAMES_OF.resume, id, signal),
    async remove(id, directory, signal, deletesFiles = false) {
      const torrent = await find(id, directory, signal);
      if (torrent) await remove(client, [torrent.hash], signal, deletesFiles);
    },
    async removeFrom(directory, signal, deletesFiles = false) {
      for (let look = 0; look < LEFT_LOOKS; look++) {
        if (look > 0) await pause(LOOK_MS);
        const left = (await list(OURS, signal)).filter((torrent) => isSameFolder(torrent.save_path, directory));
        if (left.length > 0)
          return remove(
            client,
            left.map(({ hash }) => hash),
            signal,
            deletesFiles,
          );
      }
    },
    version: (signal) => client.version({ signal }),
  };
}

/** 5.x renamed the calls; the old names are gone there. */
async function callOne(
  client: QbittorrentClient,
  [name, olderName]: readonly [string, string],
  hash: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.post(name, { hashes: hash }, { signal });
  } catch (error) {
    if (!AppError.is(error, 'FAILED_PRECONDITION') || error.details.status !== 404) throw error;
    await client.post(olderName, { hashes: hash }, { signal });
  }
}

async function remove(client: QbittorrentClient, hashes: readonly string[], signal: AbortSignal, deletesFiles: boolean): Promise<void> {
  await client.post('torrents/delete', { hashes: hashes.join('|'), deleteFiles: String(deletesFiles) }, { signal });
}

/** By which it may be known, each of forty digits. */
function namesOf({ hash, v2Hash }: { readonly hash: string; readonly v2Hash?: string }): string[] {
  return v2Hash === undefined ? [hash] : [hash, v2Hash];
}

function hashesOf({ infohash_v1, infohash_v2 }: { readonly infohash_v1: string; readonly infohash_v2: string }): string[] {
  return [infohash_v1, infohash_v2].map((hash) => hash.slice(0, 40).toLowerCase());
}

/** @throws AppError FAILED_PRECONDITION: it is somebody else's */
function requireIn(directory: string, torrent: { readonly save_path: string }): void {
  if (!isSameFolder(torrent.save_path, directory)) throw new AppError('FAILED_PRECONDITION', 'this torrent is in qBittorrent already');
}
