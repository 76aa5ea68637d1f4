import { createHash } from 'node:crypto';
import { AppError } from '@wharf/errors';
import { createGate, type Gate } from '@wharf/pace';
import type { MountPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import type { Mount } from '../domain/mounts/mounts.ts';
import type { Entry, StorageDriver } from '../driver-contract/storage-driver.ts';
import type { PictureMaker } from './picture-maker.ts';
import { createThumbnailCache, type ThumbnailCache } from './thumbnail-cache.ts';
import { MAX_INPUT_BYTES } from './thumbnail-limits.ts';

/** Thumbnails of the files of all storages. Who may see the file has been checked: what is kept says nothing of that. */
export interface Thumbnails {
  /**
   * The thumbnail of one version of a file, as a PNG. Many who ask at once wait for the same work.
   *
   * @param entry the file as it was when it was looked at
   * @throws what PictureMaker throws; STALE_VERSION when the file has changed since; what the driver's `read` throws
   */
  get(mount: Mount, path: MountPath, entry: Entry): Promise<Uint8Array>;
}

export interface ThumbnailsOptions {
  readonly maker: PictureMaker;
  /** Where storages keep their thumbnails that name no folder. Undefined: they are made again each time. */
  readonly defaultFolder: string | undefined;
  /** Told why a thumbnail could not be kept. */
  readonly onError: (error: unknown) => void;
}

/** Files of one storage that are held in memory at once at most, whatever its settings say. */
const MAX_READING = 4;
const QUEUE = { max: 256, refusal: 'too many thumbnails are asked for' } as const;
/** How long a storage may take to hand over a file, in milliseconds. */
const READ_TIMEOUT_MS = 60_000;
/** What could not be made is not tried again for so long, in milliseconds. */
const REMEMBER_FAILURE_MS = 600_000;
const REMEMBERED_FAILURES = 2_000;

export function createThumbnails({ maker, defaultFolder, onError }: ThumbnailsOptions): Thumbnails {
  const running = new Map<string, Promise<Uint8Array>>();
  const failures = new LRUCache<string, AppError>({ max: REMEMBERED_FAILURES, ttl: REMEMBER_FAILURE_MS });
  const caches = new LRUCache<string, ThumbnailCache>({ max: 100 });
  const gates = new Map<number, Gate>();

  const cacheOf = (mount: Mount): ThumbnailCache | undefined => {
    const folder = mount.thumbnails?.cacheFolder ?? defaultFolder;
    if (folder === undefined) return undefined;
    const known = caches.get(folder) ?? createThumbnailCache(folder);
    caches.set(folder, known);
    return known;
  };
  /** Each storage has a queue of its own: one that hangs keeps nobody else waiting. */
  const inTurn = async <Result>(mount: Mount, run: () => Promise<Result>): Promise<Result> => {
    const id = mount.storage._id;
    const gate = gates.get(id) ?? createGate(Math.min(Math.max(mount.thumbnails?.concurrency ?? 1, 1), MAX_READING), QUEUE);
    gates.set(id, gate);
    try {
      return await gate.run(run);
    } finally {
      if (gate.isIdle()) gates.delete(id);
    }
  };
  const make = async (key: string, mount: Mount, path: MountPath, entry: Entry): Promise<Uint8Array> => {
    const cache = cacheOf(mount);
    const kept = await cache?.read(key).catch(onError);
    if (kept) return kept;
    const png = await inTurn(mount, async () => {
      const image = await readPicture(await mount.driver(), path, entry);
      return maker.make(image).catch((error: unknown) => {
        if (AppError.means(error, 'verdict')) failures.set(key, error);
        throw error;
      });
    });
    await cache?.write(key, png).catch(onError);
    return png;
  };

  return {
    get(mount, path, entry) {
      const key = keyOf(mount, path, entry);
      const failed = failures.get(key);
      if (failed) return Promise.reject(failed);
      const known = running.get(key);
      if (known) return known;
      const made = make(key, mount, path, entry).finally(() => running.delete(key));
      running.set(key, made);
      return made;
    },
  };
}

/** Names one version of a file. Another configuration of the storage may be another folder: it has other names. */
function keyOf({ storage }: Mount, path: MountPath, { modifiedAt, sizeBytes, hashes }: Entry): string {
  const version = [storage._id, storage.modified.getTime(), path, modifiedAt.getTime(), sizeBytes, hashes];
  return createHash('sha256').update(JSON.stringify(version)).digest('hex');
}

async function readPicture(driver: StorageDriver, path: MountPath, looked: Entry): Promise<Uint8Array> {
  checkSize(looked);
  const reading = new AbortController();
  const late = () => reading.abort(new AppError('DEADLINE_EXCEEDED', 'the storage did not answer in time'));
  const timer = setTimeout(late, READ_TIMEOUT_MS);
  try {
    const content = await driver.read(path, undefined, { signal: reading.signal });
    const { entry } = content;
    if (entry.sizeBytes !== looked.sizeBytes || entry.modifiedAt.getTime() !== looked.modifiedAt.getTime())
      throw new AppError('STALE_VERSION', 'the file was replaced meanwhile');
    if (entry.sizeBytes === undefined) return await readUnsized(content);
    const image = new Uint8Array(entry.sizeBytes);
    let filled = 0;
    for await (const chunk of content) {
      if (filled + chunk.byteLength > image.byteLength) throw new AppError('CONTENT_CORRUPT', 'the file is larger than announced');
      image.set(chunk, filled);
      filled += chunk.byteLength;
    }
    return image.subarray(0, filled);
  } catch (error) {
    // A content that nobody iterates still holds its file.
    reading.abort();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function readUnsized(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of content) {
    sizeBytes += chunk.byteLength;
    checkSize({ sizeBytes });
    chunks.push(Uint8Array.from(chunk));
  }
  return Buffer.concat(chunks);
}

function checkSize({ sizeBytes = 0 }: { readonly sizeBytes: number | undefined }): void {
  if (sizeBytes > MAX_INPUT_BYTES) throw new AppError('INVALID_ARGUMENT', 'the file is too large for a thumbnail');
}
