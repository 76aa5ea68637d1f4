import { createHash, randomBytes } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError, systemCodeOf } from '@wharf/errors';
import type { Digests } from '../domain/digests.ts';
import { leftBeyondReserve } from './disk-reserve.ts';
import type { FileSink } from './transfer.ts';

/** Bytes that are read at once. */
const READ_BYTES = 1024 * 1024;
/** How many bytes a file that outgrows its promise claims at a time. */
const GROW_BYTES = 4 * 1024 * 1024;
/** Ids are made here and come back from the store. Those of earlier versions do not say whose they are. */
const ID = /^[0-9a-f]{32}-(\d{1,16})(?:-(\d{1,16}))?$/;
/** The part of the room that one user's files may have, so that others find some: as fs has it of uploads that wait. */
const USER_SHARE = 0.75;
/** Behind the name of a file that was left to the admin. */
const KEPT = '.kept';
/** So many of one user are left: each look for room goes through all. */
const MAX_KEPT = 1_000;
/** A file that was not touched for so long, in milliseconds, belongs to no download. Write sessions end a day sooner. */
const ABANDONED_MS = 2 * 86_400_000;

/** A file that waits in the scratch folder. */
export interface ScratchFile {
  readonly id: string;
  /** Writing throws as {@link Scratch.begin} does when the file becomes bigger than there is room for. */
  readonly sink: FileSink;
  /** @throws AppError CONTENT_CORRUPT */
  verify(file: { readonly sizeBytes: number; readonly digests: Digests }): Promise<void>;
  /** Opened when the first byte is asked for: nobody may ask for any. */
  read(): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
  /** Closes the file and leaves it to the admin, unless {@link MAX_KEPT} of its user are left. It takes room, and of its user's share, as before. */
  keep(): Promise<void>;
  /** Safe twice. */
  remove(): Promise<void>;
}

/** A folder for files whose storage takes only whole ones. Several processes may share it. */
export interface Scratch {
  /**
   * Checks the room for a file that waits. Its size may have been a guess, so a file that could never fit does not wait.
   * @throws AppError QUOTA_EXCEEDED that is worth waiting ({@link missingRoom}), telling what is needed and what is free
   */
  requireRoom(sizeBytes: number, userId?: number): Promise<void>;
  /**
   * @param id of {@link newScratchId}.
   * @throws AppError QUOTA_EXCEEDED: it does not fit beside what is there; {@link missingRoom} tells whether it is worth waiting
   */
  begin(id: string): Promise<ScratchFile>;
  /** Undefined when the file is not (or no longer) in this folder. */
  resume(id: string): Promise<ScratchFile | undefined>;
}

/** The id of a file to come: 32 random hexadecimal digits, the bytes that it will have, as far as that was said, and whose it is, with dashes between. */
export function newScratchId(sizeBytes = 0, userId?: number): string {
  return `${randomBytes(16).toString('hex')}-${sizeBytes}${userId === undefined ? '' : `-${userId}`}`;
}

/** Undefined: no file of ours. */
function promisedBytesOf(name: string): number | undefined {
  const bytes = ID.exec(name)?.[1];
  return bytes === undefined ? undefined : Number(bytes);
}

/** Whose a file is that waits, or was kept. Undefined: nobody says. */
function userIdOf(name: string): number | undefined {
  const id = ID.exec(name.endsWith(KEPT) ? name.slice(0, -KEPT.length) : name)?.[2];
  return id === undefined ? undefined : Number(id);
}

/** For an error of a scratch folder: the bytes that will have room when other files have gone. Undefined: there will never be room for it. */
export function missingRoom(error: unknown): number | undefined {
  const bytes = AppError.is(error, 'QUOTA_EXCEEDED') ? error.details.needsBytes : undefined;
  return typeof bytes === 'number' ? bytes : undefined;
}

export interface ScratchOptions {
  /** Made when it is missing. */
  readonly dir: string;
  /** It lies where everybody may make folders: it must be ours, and nobody else may look into it. */
  readonly isAmongOthers?: boolean;
  /** A folder of ours. Where it is on the same disk, that is not filled up. */
  readonly beside?: string | undefined;
  /** For all files together; 0: what the disk has. */
  readonly maxBytes: number;
  /** There is more room than a moment ago. */
  readonly onFreed: () => void;
}

/**
 * The name of a file says how many bytes are promised to it, and whose it is. So the promise holds for all processes that share the folder, and also after
 * they were killed. All throw FAILED_PRECONDITION where the folder must be ours, and is not.
 */
export function createScratch(options: ScratchOptions): Scratch {
  const { dir, isAmongOthers = false } = options;
  let turn: Promise<unknown> = Promise.resolve();

  const requireRoom = async (sizeBytes: number, userId: number | undefined, own?: string): Promise<void> => {
    const room = await roomIn(options, userId, own);
    if (sizeBytes > room.freeBytes) throw noRoom(room, sizeBytes);
  };
  const open = async (id: string, flags: number): Promise<ScratchFile> => {
    const path = join(dir, id);
    return scratchFile({
      id,
      path,
      handle: await fs.open(path, constants.O_RDWR | constants.O_NOFOLLOW | flags, 0o600),
      look: () => roomIn(options, userIdOf(id)),
      onFreed: options.onFreed,
    });
  };
  const begin = async (id: string): Promise<ScratchFile> => {
    const [sizeBytes, userId] = [promisedBytesOf(id) ?? 0, userIdOf(id)];
    await requireRoom(sizeBytes, userId);
    const file = await open(id, constants.O_CREAT | constants.O_EXCL);
    try {
      // Another process may have begun one at the same time.
      await requireRoom(sizeBytes, userId, id);
      return file;
    } catch (error) {
      await file.close();
      await fs.rm(join(dir, id), { force: true });
      throw error;
    }
  };

  return {
    async requireRoom(sizeBytes, userId) {
      const room = await roomIn(options, userId);
      if (Math.min(sizeBytes, room.everBytes) > room.freeBytes) throw noRoomYet(room, sizeBytes);
    },
    begin(id) {
      const begun = turn.then(() => begin(id));
      turn = begun.catch(() => {});
      return begun;
    },
    async resume(id) {
      if (!ID.test(id)) return undefined;
      await makeFolder(dir, isAmongOthers);
      try {
        return await open(id, 0);
      } catch {
        return undefined;
      }
    },
  };
}

/** @param userId whose room: of a user there is a share. @param own a file whose promise does not count */
async function roomIn(
  { dir, maxBytes, isAmongOthers = false, beside }: ScratchOptions,
  userId: number | undefined,
  own?: string,
): Promise<Room> {
  let takenBytes = 0;
  let usersBytes = 0;
  let usersKeptBytes = 0;
  let comingBytes = 0;
  let stayingBytes = 0;
  let passingDiskBytes = 0;
  await makeFolder(dir, isAmongOthers);
  for (const name of await fs.readdir(dir)) {
    const path = join(dir, name);
    const stats = await fs.stat(path).catch(() => undefined);
    if (!stats) continue;
    const promise = promisedBytesOf(name);
    if (promise !== undefined && Date.now() - stats.mtimeMs > ABANDONED_MS) {
      await fs.rm(path, { force: true });
      continue;
    }
    const promisedBytes = name === own ? 0 : (promise ?? 0);
    const diskBytes = stats.blocks * STAT_BLOCK_BYTES;
    const bytes = Math.max(promisedBytes, stats.size);
    takenBytes += bytes;
    if (userId !== undefined && userIdOf(name) === userId) {
      usersBytes += bytes;
      if (promise === undefined) usersKeptBytes += stats.size;
    }
    comingBytes += Math.max(0, promisedBytes - diskBytes);
    if (promise === undefined) stayingBytes += stats.size;
    else passingDiskBytes += diskBytes;
  }
  const { bytes: availableBytes } = await leftBeyondReserve(dir, beside);
  const limitBytes = maxBytes > 0 ? maxBytes : Number.POSITIVE_INFINITY;
  const everBytes = Math.max(0, Math.min(limitBytes - stayingBytes, availableBytes + passingDiskBytes));
  const freeBytes = Math.max(0, Math.min(limitBytes - takenBytes, availableBytes - comingBytes));
  if (userId === undefined) return { everBytes, freeBytes };
  const shareBytes = Math.floor((everBytes + usersKeptBytes) * USER_SHARE);
  return {
    everBytes: Math.max(0, shareBytes - usersKeptBytes),
    freeBytes: Math.max(0, Math.min(freeBytes, shareBytes - usersBytes)),
  };
}

/** @param isAmongOthers somebody else may have made it before us, or a link. @throws AppError FAILED_PRECONDITION */
async function makeFolder(dir: string, isAmongOthers: boolean): Promise<void> {
  await fs.mkdir(dir, { recursive: true, mode: 0o700 });
  if (!isAmongOthers) return;
  const state = await fs.lstat(dir);
  if (!state.isDirectory() || (process.getuid && state.uid !== process.getuid()))
    throw new AppError('FAILED_PRECONDITION', `${dir} belongs to somebody else; remove it, or name another folder in WHARF_SCRATCH_DIR`);
  await fs.chmod(dir, 0o700);
}

/** What `stat` counts in, whatever the disk does. */
const STAT_BLOCK_BYTES = 512;

/** Of all, or of one user. */
interface Room {
  /** The room that is free once all files with a promise have gone. Other files stay: they were kept, or are not ours. */
  readonly everBytes: number;
  readonly freeBytes: number;
}

function noRoom(room: Room, needsBytes: number): AppError {
  if (needsBytes <= room.everBytes) return noRoomYet(room, needsBytes);
  const most = showBytes(room.everBytes);
  return new AppError('QUOTA_EXCEEDED', `needs ${showBytes(needsBytes)}, the scratch folder has room for ${most} at most`);
}

function noRoomYet({ freeBytes }: Room, needsBytes: number): AppError {
  return new AppError('QUOTA_EXCEEDED', `needs ${showBytes(needsBytes)}, ${showBytes(freeBytes)} free in the scratch folder`, {
    details: { needsBytes },
  });
}

function scratchFile(file: {
  readonly id: string;
  readonly path: string;
  readonly handle: FileHandle;
  readonly look: () => Promise<Room>;
  readonly onFreed: () => void;
}): ScratchFile {
  const { id, path, handle, look } = file;
  let isOpen = true;
  let isGone = false;
  const promisedBytes = promisedBytesOf(id) ?? 0;
  let grantedBytes = promisedBytes;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await handle.close();
  };
  const remove = async () => {
    await close();
    await fs.rm(path, { force: true });
    if (!isGone) file.onFreed();
    isGone = true;
  };
  /**
   * The file is removed, and begins anew when there is more room. When its size is not known, it then needs twice the bytes that had come.
   */
  const refuse = ({ everBytes, freeBytes }: Room, ownBytes: number, endBytes: number) => {
    const guess = Math.max(endBytes, Math.min(everBytes, 2 * endBytes + GROW_BYTES));
    return noRoom({ everBytes, freeBytes: freeBytes + ownBytes }, endBytes <= promisedBytes ? promisedBytes : guess);
  };
  const grow = async (endBytes: number) => {
    const [room, { size }] = [await look(), await handle.stat()];
    const spareBytes = room.freeBytes - (endBytes - size);
    if (spareBytes < 0) throw refuse(room, size, endBytes);
    grantedBytes = endBytes + Math.min(spareBytes, GROW_BYTES);
  };
  const granted = async function* (content: AsyncIterable<Uint8Array>, offsetBytes: number) {
    let endBytes = offsetBytes;
    for await (const chunk of content) {
      endBytes += chunk.byteLength;
      if (endBytes > grantedBytes) await grow(endBytes);
      yield chunk;
    }
  };
  return {
    id,
    sink: {
      partBytes: 1,
      async write(offsetBytes, content) {
        try {
          await writeAt(handle, offsetBytes, granted(content, offsetBytes));
        } catch (error) {
          // Others than us use the disk too.
          if (!isDiskFull(error)) throw error;
          const { size } = await handle.stat();
          throw refuse(await look(), size, size);
        }
      },
      sync: () => handle.datasync(),
    },
    async verify({ sizeBytes, digests }) {
      if ((await handle.stat()).size !== sizeBytes) throw new AppError('CONTENT_CORRUPT', 'the file does not have the announced size');
      for (const [algorithm, expected] of Object.entries(digests)) {
        const hash = createHash(algorithm);
        for await (const chunk of createReadStream(path, { highWaterMark: READ_BYTES })) hash.update(chunk);
        if (hash.digest('hex') !== expected)
          throw new AppError('CONTENT_CORRUPT', `the file does not have the announced ${algorithm} digest`);
      }
    },
    async *read() {
      yield* createReadStream(path, { highWaterMark: READ_BYTES });
    },
    close,
    async keep() {
      if ((await keptOf(dirname(path), userIdOf(id))) >= MAX_KEPT) return remove();
      await close();
      await fs.rename(path, path + KEPT);
    },
    remove,
  };
}

/** How many files of a user were kept. */
async function keptOf(dir: string, userId: number | undefined): Promise<number> {
  return (await fs.readdir(dir)).filter((name) => name.endsWith(KEPT) && userIdOf(name) === userId).length;
}

function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(systemCodeOf(error) ?? '');
}

async function writeAt(handle: FileHandle, offsetBytes: number, content: AsyncIterable<Uint8Array>): Promise<void> {
  let position = offsetBytes;
  for await (const piece of content) {
    for (let at = 0; at < piece.byteLength; ) {
      const { bytesWritten } = await handle.write(piece, at, piece.byteLength - at, position);
      at += bytesWritten;
      position += bytesWritten;
    }
  }
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'];

/** For people: `12 GB`. */
export function showBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : Number(value.toPrecision(2))} ${UNITS[unit] ?? ''}`;
}
