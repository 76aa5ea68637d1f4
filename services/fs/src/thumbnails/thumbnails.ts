import { createHash } from 'node:crypto';
import { AppError, type ErrorCode } from '@wharf/errors';
import { gatherBytes, memoryBytes } from '@wharf/pace';
import type { MountPath } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import type { Mount } from '../domain/mounts/mounts.ts';
import { createLane, type Lane } from '../driver-contract/lane.ts';
import { createSharedWork } from '../driver-contract/shared-work.ts';
import { type Entry, type StorageDriver, supports } from '../driver-contract/storage-driver.ts';
import { abortError, largeThumbnail, throwIfAborted } from '../driver-contract/storage-error.ts';
import { isSameVersion } from '../driver-contract/unchanged.ts';
import { readImageHeader } from './image-header.ts';
import { type Asker, createJointTurn, type JointTurn } from './joint-turn.ts';
import type { PictureMaker } from './picture-maker.ts';
import { createThumbnailCache, type ThumbnailCache } from './thumbnail-cache.ts';
import { LARGE_PIXELS, MAX_INPUT_BYTES, MAX_STORAGE_PICTURE_BYTES, THUMBNAIL_WIDTH } from './thumbnail-limits.ts';

/** Thumbnails of the files of all storages. Who may see the file has been checked: what is kept says nothing of that. */
export interface Thumbnails {
  /**
   * The thumbnail of one version of a file, as a PNG. Many who ask at once wait for the same work, which ends when the last of them has gone.
   *
   * Where the storage has a picture of it, that one is shown small. What comes of it is held to the bounds of any file: where it fails, the file
   * itself is read, if it may be a picture.
   *
   * @param entry the file as it was when it was looked at
   * @param isPicture whether the file may be a picture that can be read
   * @param asker.caller for whom it is: no one has more than half of what is made of one storage at a time
   * @throws what PictureMaker throws; STALE_VERSION when the file has changed since; what the driver's `read` or `thumbnail` throws
   */
  get(mount: Mount, path: MountPath, entry: Entry, isPicture: boolean, asker: Asker): Promise<Uint8Array>;
}

export interface ThumbnailsOptions {
  readonly maker: PictureMaker;
  /** Where storages keep their thumbnails that name no folder. Undefined: they are made again each time. */
  readonly defaultFolder: string | undefined;
  /** How long a storage may take for a picture of its own, in milliseconds: after that there is time to read the file. */
  readonly pictureTimeoutMs?: number;
  /** Bytes of files that are held at a time, at least one; left out: by the memory of the process. */
  readonly heldBytes?: number;
  /** Told why a thumbnail could not be kept. */
  readonly onError: (error: unknown) => void;
}

/** Files of one storage that are held in memory at once at most, whatever its settings say. */
const MAX_READING = 4;
/** Files that are held of all storages together, as a fraction of the memory of the process. */
const MEMORY_SHARES = 16;
/** Larger files leave a quarter of that to others, and wait for their turn: two storages that stand still would have all of it. */
const LARGE_BYTES = 4 * 1024 * 1024;
/** How long a storage may take to hand over a file, in milliseconds. */
const READ_TIMEOUT_MS = 60_000;
const PICTURE_TIMEOUT_MS = 10_000;
/** What could not be made is not tried again for so long, in milliseconds. */
const REMEMBER_FAILURE_MS = 600_000;
const REMEMBERED_FAILURES = 2_000;

export function createThumbnails({
  maker,
  defaultFolder,
  pictureTimeoutMs = PICTURE_TIMEOUT_MS,
  heldBytes = memoryBytes() / MEMORY_SHARES,
  onError,
}: ThumbnailsOptions): Thumbnails {
  const share = createSharedWork<string, Uint8Array>();
  const failures = new LRUCache<string, AppError>({ max: REMEMBERED_FAILURES, ttl: REMEMBER_FAILURE_MS });
  const caches = new LRUCache<string, ThumbnailCache>({ max: 100 });
  /** Of what is made at this moment. */
  const turns = new Map<string, JointTurn>();
  const lanes = new Map<number, { readonly lane: Lane; users: number }>();

  // Half of it holds any file.
  const size = Math.max(heldBytes, 2 * MAX_INPUT_BYTES);
  const held = createLane({ size, share: size / 4, waitMs: READ_TIMEOUT_MS });
  /** A storage that hangs has no more than a quarter of what is held, or one file. */
  const holding = <Result>(bytes: number, { storage, until }: Wanted, work: () => Promise<Result>): Promise<Result> =>
    held.run({ caller: `${storage}`, signal: until, ...(bytes > LARGE_BYTES && { isPatient: true }) }, work, bytes);
  const cacheOf = (mount: Mount): ThumbnailCache | undefined => {
    const folder = mount.thumbnails?.cacheFolder ?? defaultFolder;
    if (folder === undefined) return undefined;
    const known = caches.get(folder) ?? createThumbnailCache(folder);
    caches.set(folder, known);
    return known;
  };
  /** Each storage has a queue of its own: one that hangs keeps nobody else waiting. */
  const withLane = async <Result>(mount: Mount, run: (lane: Lane) => Promise<Result>): Promise<Result> => {
    const id = mount.storage._id;
    const size = Math.min(Math.max(mount.thumbnails?.concurrency ?? MAX_READING, 1), MAX_READING);
    const own = lanes.get(id) ?? { lane: createLane({ size, share: Math.ceil(size / 2) }), users: 0 };
    lanes.set(id, own);
    own.users += 1;
    try {
      return await run(own.lane);
    } finally {
      own.users -= 1;
      if (own.users === 0) lanes.delete(id);
    }
  };
  const makeLasting = (key: string, image: Uint8Array, { caller, until: signal }: Wanted): Promise<Uint8Array> =>
    maker.make(image, { caller, signal }).catch((error: unknown) => {
      if (AppError.means(error, 'verdict')) failures.set(key, error);
      throw error;
    });
  const makeOnce = async (key: string, driver: StorageDriver, wanted: Wanted): Promise<Uint8Array> => {
    const { path, entry, isPicture, caller, until } = wanted;
    if (entry.hasThumbnail && supports(driver, 'thumbnail')) {
      const own = await holding(MAX_STORAGE_PICTURE_BYTES, wanted, async () => {
        const image = askForPicture(driver, path, entry, { limitMs: pictureTimeoutMs, signal: until });
        if (!isPicture) return makeLasting(key, await image, wanted);
        return image.then((bytes) => maker.make(bytes, { caller, signal: until })).catch(ignoreUnless('STALE_VERSION'));
      });
      if (own) return own;
    }
    throwIfAborted(until);
    checkSize(entry);
    return holding(entry.sizeBytes ?? MAX_INPUT_BYTES, wanted, async () =>
      makeLasting(key, await readPicture(driver, path, entry, until), wanted),
    );
  };
  const make = (key: string, mount: Mount, wanted: Wanted): Promise<Uint8Array> =>
    withLane(mount, async (lane) => {
      const turn = createJointTurn(lane);
      turns.set(key, turn);
      try {
        const cache = cacheOf(mount);
        const kept = await cache?.read(key).catch(onError);
        if (kept) return kept;
        await turn.come(wanted.until);
        const png = await makeOnce(key, await mount.driver(), wanted);
        turn.end();
        await cache?.write(key, png).catch(onError);
        return png;
      } finally {
        turn.end();
        if (turns.get(key) === turn) turns.delete(key);
      }
    });

  return {
    get(mount, path, entry, isPicture, asker) {
      const key = keyOf(mount, path, entry);
      const failed = failures.get(key);
      if (failed) return Promise.reject(failed);
      const { signal, caller = '' } = asker;
      const wanted = { storage: mount.storage._id, path, entry, isPicture, caller };
      const made = share(key, signal, (until) => make(key, mount, { ...wanted, until }));
      turns.get(key)?.join(asker);
      return made;
    },
  };
}

/** One version of a file whose thumbnail is wanted. */
interface Wanted {
  readonly storage: number;
  readonly path: MountPath;
  readonly entry: Entry;
  readonly isPicture: boolean;
  /** Who asked first. */
  readonly caller: string;
  /** Aborted when nobody waits for it any more. */
  readonly until: AbortSignal;
}

/**
 * Names one version of a file, by all that its storage tells of it: a file may be replaced by one of its size and date. Another configuration of the storage
 * may be another folder: it has other names.
 */
function keyOf({ storage }: Mount, path: MountPath, { modifiedAt, createdAt, sizeBytes, hashes, version }: Entry): string {
  const told = [storage._id, storage.modified.getTime(), path, modifiedAt.getTime(), sizeBytes, hashes, createdAt?.getTime(), version];
  return createHash('sha256').update(JSON.stringify(told)).digest('hex');
}

/** The picture that the storage has of a file: a small one, whose header is looked at before anything is decoded. */
async function askForPicture(
  driver: StorageDriver & Required<Pick<StorageDriver, 'thumbnail'>>,
  path: MountPath,
  looked: Entry,
  limit: Limit,
): Promise<Uint8Array> {
  const { entry, image } = await within(limit, (signal) =>
    driver.thumbnail(path, { signal, widthPixels: THUMBNAIL_WIDTH, maxBytes: MAX_STORAGE_PICTURE_BYTES }),
  );
  requireSame(looked, entry);
  const header = readImageHeader(image);
  if (image.byteLength > MAX_STORAGE_PICTURE_BYTES) throw largeThumbnail();
  if (header && header.width * header.height > LARGE_PIXELS) throw largeThumbnail();
  return image;
}

async function readPicture(driver: StorageDriver, path: MountPath, looked: Entry, until: AbortSignal): Promise<Uint8Array> {
  return within({ limitMs: READ_TIMEOUT_MS, signal: until }, async (signal) => {
    const content = await driver.read(path, undefined, { signal });
    const { entry } = content;
    requireSame(looked, entry);
    checkSize(entry);
    if (entry.sizeBytes === undefined) return await readUnsized(content);
    const image = new Uint8Array(entry.sizeBytes);
    let filled = 0;
    for await (const chunk of content) {
      if (filled + chunk.byteLength > image.byteLength) throw new AppError('CONTENT_CORRUPT', 'the file is larger than announced');
      image.set(chunk, filled);
      filled += chunk.byteLength;
    }
    return image.subarray(0, filled);
  });
}

interface Limit {
  readonly limitMs: number;
  /** Of those who wait for it. */
  readonly signal: AbortSignal;
}

/** Ends what takes too long or is waited for no more, and what has failed: a content that nobody iterates still holds its file. */
async function within<Result>({ limitMs, signal }: Limit, run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const running = new AbortController();
  const leave = () => running.abort(abortError(signal));
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  const late = () => running.abort(new AppError('DEADLINE_EXCEEDED', 'the storage did not answer in time'));
  const timer = setTimeout(late, limitMs);
  try {
    return await run(running.signal);
  } catch (error) {
    running.abort();
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  }
}

/** A storage may tell a size as it is asked for the content alone. @throws AppError STALE_VERSION */
function requireSame(looked: Entry, { sizeBytes = looked.sizeBytes, modifiedAt, createdAt = looked.createdAt, version }: Entry): void {
  const isSame =
    (looked.sizeBytes ?? sizeBytes) === sizeBytes &&
    modifiedAt.getTime() === looked.modifiedAt.getTime() &&
    (looked.createdAt ?? createdAt)?.getTime() === createdAt?.getTime() &&
    isSameVersion(looked.version, version);
  if (!isSame) throw new AppError('STALE_VERSION', 'the file was replaced meanwhile');
}

/** Of what has another way. */
function ignoreUnless(code: ErrorCode): (error: unknown) => undefined {
  return (error) => {
    if (AppError.is(error, code)) throw error;
  };
}

async function readUnsized(content: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const gathered = gatherBytes(MAX_INPUT_BYTES);
  let sizeBytes = 0;
  for await (const chunk of content) {
    sizeBytes += chunk.byteLength;
    checkSize({ sizeBytes });
    gathered.add(chunk);
  }
  return gathered.whole();
}

function checkSize({ sizeBytes = 0 }: { readonly sizeBytes: number | undefined }): void {
  if (sizeBytes > MAX_INPUT_BYTES) throw new AppError('INVALID_ARGUMENT', 'the file is too large for a thumbnail');
}
