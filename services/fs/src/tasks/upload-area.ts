import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { AppError } from '@wharf/errors';
import { currentOwner, newOwnedName, ownerOf, type ProcessOwner } from '@wharf/owned-names';
import { hasNoSpace, isMissing, openOwnFolder, UNFINISHED, userShareOf } from '../driver-contract/own-folder.ts';
import type { Hashes } from '../driver-contract/storage-driver.ts';
import { verifiedContent } from '../driver-contract/verified-content.ts';

/** How far the area may go between two looks at what is free, in bytes. */
const LOOK_BYTES = 16 * 1024 * 1024;
/** A file that no task names is somebody's on another host who is about to name it, for so long, in milliseconds. */
const UNNAMED_MS = 3_600_000;

/** What a client promised of a body. */
export interface BodyPromise {
  /** Whose it is: one user leaves room in the area for others. */
  readonly userId: number;
  /** Undefined: not known beforehand. */
  readonly sizeBytes: number | undefined;
  readonly expectedHashes: Hashes;
  readonly signal: AbortSignal;
}

/** A folder of this machine for the bodies of uploads that wait to be stored. What it answered survives a crash. */
export interface UploadArea {
  /** Tells this folder from those of other replicas, for ever. */
  readonly id: string;
  /** @throws AppError QUOTA_EXCEEDED (no room here) | INVALID_ARGUMENT (another size) | CONTENT_CORRUPT (another hash) | CANCELLED */
  receive(content: AsyncIterable<Uint8Array>, promise: BodyPromise): Promise<{ file: string; sizeBytes: number }>;
  /** The bytes of one body, to be destroyed at the end in any case: one of which no byte was taken still holds its file. Undefined when it is not kept any more. */
  read(file: string): Promise<Readable | undefined>;
  /** Nothing there is success. */
  remove(file: string): Promise<void>;
  /**
   * Removes what no task names and nobody is about to name: what belongs to a process that has ended, and what is old.
   * @param named asked once the folder was read: whoever has ended by then names nothing more
   */
  sweep(named: () => Promise<ReadonlySet<string>>): Promise<void>;
}

/**
 * Makes the folder where it is missing.
 *
 * @param limitBytes of everything in the folder. @throws Error of the system: nothing can be kept there
 */
export function openUploadArea(folder: string, limitBytes: number): UploadArea {
  const { id, holds, room, sync } = openOwnFolder(folder, noRoom);
  const owner = currentOwner();
  const holdings = createHoldings(limitBytes);
  const { note } = holdings;
  const coming = new Set<string>();

  const claim = async (file: string, bytes: number, userId: number): Promise<number> => {
    // Before anything is waited for: of several at a time, none is overlooked.
    holdings.add(file, bytes, userId);
    try {
      await room.require(bytes);
    } catch (error) {
      note(file, holdings.bytesOf(file) - bytes, userId);
      throw error;
    }
    return bytes;
  };

  return {
    id,
    async receive(content, { userId, sizeBytes, expectedHashes, signal }) {
      const file = newOwnedName(owner);
      const place = join(folder, file);
      let claimedBytes = 0;
      let writtenBytes = 0;
      coming.add(file);
      let handle: FileHandle | undefined;
      try {
        claimedBytes = await claim(file, sizeBytes ?? 0, userId);
        await room.take(0, 1);
        handle = await open(place + UNFINISHED, 'wx', 0o600);
        for await (const chunk of verifiedContent(content, { overwrite: false, sizeBytes, expectedHashes, signal })) {
          if (writtenBytes + chunk.byteLength > claimedBytes) {
            // Far ahead where there is room for as much.
            const more = await claim(file, LOOK_BYTES + chunk.byteLength, userId).catch(() => claim(file, chunk.byteLength, userId));
            claimedBytes += more;
          }
          // Many may have been announced that fit one by one.
          await room.take(chunk.byteLength);
          // All of it: where a disk or a quota ends, a single write takes what still fits, and says so in its answer alone.
          await handle.writeFile(chunk);
          writtenBytes += chunk.byteLength;
        }
        await handle.sync();
        await handle.close();
        await rename(place + UNFINISHED, place);
        await sync();
      } catch (error) {
        await handle?.close().catch(() => undefined);
        await rm(place + UNFINISHED, { force: true });
        note(file, 0);
        throw hasNoSpace(error) ? new AppError('QUOTA_EXCEEDED', 'no space left for uploads that wait', { cause: error }) : error;
      } finally {
        coming.delete(file);
      }
      note(file, writtenBytes, userId);
      return { file, sizeBytes: writtenBytes };
    },
    async read(file) {
      try {
        const handle = await open(join(folder, file));
        return createReadStream('', { fd: handle, highWaterMark: 1024 * 1024 });
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    async remove(file) {
      await rm(join(folder, file), { force: true });
      note(file, 0);
    },
    async sweep(named) {
      const unclaimed: string[] = [];
      for (const name of await readdir(folder)) if (holds(name) && (await isUnclaimed(join(folder, name), owner))) unclaimed.push(name);
      if (unclaimed.length > 0) {
        const kept = await named();
        for (const name of unclaimed) if (!kept.has(name)) await rm(join(folder, name), { force: true });
      }
      const settled = holdings.files().filter((file) => !coming.has(file));
      const there = new Set(await readdir(folder));
      for (const file of settled) if (!there.has(file)) note(file, 0);
      for (const name of there)
        if (holds(name) && ownerOf(basename(name, UNFINISHED), owner) !== 'self') note(name, await sizeOf(join(folder, name)));
    },
  };
}

/** What the files of an area take, or will take as far as they were announced. Files that a sweep found are in it as it found them, and are nobody's. */
function createHoldings(limitBytes: number) {
  const held = new Map<string, { readonly bytes: number; readonly userId: number | undefined }>();
  const shareBytes = userShareOf(limitBytes);
  let heldBytes = 0;
  /** The same by whose they are. */
  const bytesOfUsers = new Map<number, number>();
  const bytesOf = (file: string) => held.get(file)?.bytes ?? 0;
  const note = (file: string, bytes: number, userId = held.get(file)?.userId) => {
    const more = bytes - bytesOf(file);
    heldBytes += more;
    if (userId !== undefined) {
      const own = (bytesOfUsers.get(userId) ?? 0) + more;
      if (own === 0) bytesOfUsers.delete(userId);
      else bytesOfUsers.set(userId, own);
    }
    if (bytes === 0) held.delete(file);
    else held.set(file, { bytes, userId });
  };
  return {
    bytesOf,
    files: () => [...held.keys()],
    /** Says what a file takes; 0: it is gone. */
    note,
    /** @throws AppError QUOTA_EXCEEDED: nothing is added */
    add(file: string, bytes: number, userId: number) {
      if (heldBytes + bytes > limitBytes) throw noRoom();
      if ((bytesOfUsers.get(userId) ?? 0) + bytes > shareBytes)
        throw new AppError(
          'QUOTA_EXCEEDED',
          `your uploads that wait may have ${shareBytes} bytes in all: wait until some are stored, or upload without As-Task`,
        );
      note(file, bytesOf(file) + bytes, userId);
    },
  };
}

function noRoom(): AppError {
  return new AppError('QUOTA_EXCEEDED', 'there is no room for uploads that wait; try again later, or without As-Task');
}

/** Whether nobody is about to name a file: its process has ended, or could not be asked and left it an hour ago. */
async function isUnclaimed(place: string, self: ProcessOwner): Promise<boolean> {
  const state = ownerOf(basename(place, UNFINISHED), self);
  if (state === 'gone') return true;
  const found = await stat(place).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > UNNAMED_MS;
}

async function sizeOf(place: string): Promise<number> {
  return (await stat(place).catch(() => undefined))?.size ?? 0;
}
