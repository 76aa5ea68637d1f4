import { createReadStream } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { AppError } from '@wharf/errors';
import { currentOwner, newOwnedName, ownerOf, type ProcessOwner } from '@wharf/owned-names';
import { hasNoSpace, isMissing, openOwnFolder, UNFINISHED } from '../driver-contract/own-folder.ts';
import type { Hashes } from '../driver-contract/storage-driver.ts';
import { verifiedContent } from '../driver-contract/verified-content.ts';

/** How far the area may go between two looks at what is free, in bytes. */
const LOOK_BYTES = 16 * 1024 * 1024;
/** A file that no task names is somebody's on another host who is about to name it, for so long, in milliseconds. */
const UNNAMED_MS = 3_600_000;

/** What a client promised of a body. */
export interface BodyPromise {
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
  /** What each file takes, or will take as far as it was announced. Files of others are in it as the last sweep found them. */
  const sizes = new Map<string, number>();
  const coming = new Set<string>();
  let heldBytes = 0;

  const note = (file: string, bytes: number) => {
    heldBytes += bytes - (sizes.get(file) ?? 0);
    if (bytes === 0) sizes.delete(file);
    else sizes.set(file, bytes);
  };
  const claim = async (file: string, bytes: number): Promise<number> => {
    if (heldBytes + bytes > limitBytes) throw noRoom();
    await room.require(bytes);
    note(file, (sizes.get(file) ?? 0) + bytes);
    return bytes;
  };

  return {
    id,
    async receive(content, { sizeBytes, expectedHashes, signal }) {
      const file = newOwnedName(owner);
      const place = join(folder, file);
      let claimedBytes = sizeBytes ?? 0;
      let writtenBytes = 0;
      await claim(file, claimedBytes);
      coming.add(file);
      let handle: FileHandle | undefined;
      try {
        handle = await open(place + UNFINISHED, 'wx', 0o600);
        for await (const chunk of verifiedContent(content, { overwrite: false, sizeBytes, expectedHashes, signal })) {
          if (writtenBytes + chunk.byteLength > claimedBytes) {
            // Far ahead where there is room for as much.
            const more = await claim(file, LOOK_BYTES + chunk.byteLength).catch(() => claim(file, chunk.byteLength));
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
      note(file, writtenBytes);
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
      const settled = [...sizes.keys()].filter((file) => !coming.has(file));
      const there = new Set(await readdir(folder));
      for (const file of settled) if (!there.has(file)) note(file, 0);
      for (const name of there)
        if (holds(name) && ownerOf(basename(name, UNFINISHED), owner) !== 'self') note(name, await sizeOf(join(folder, name)));
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
