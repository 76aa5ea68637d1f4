import type { MountPath } from '@wharf/paths';
import { decorated, operationsOf, operationsOfDraft } from '../../driver-contract/complete-driver.ts';
import { createDiskRoom, type DiskRoom, RESERVE_BYTES } from '../../driver-contract/disk-room.ts';
import type { CallOptions, Draft, Entry, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { walkTree } from '../../driver-contract/walk-tree.ts';

/** Of a small disk users leave only a part of it free: so much of the whole. A store without any room can neither log anybody in nor note what they did. */
const RESERVE_PART = 20;
/** An entry takes a block of the disk, whatever is in it. */
const BLOCK_BYTES = 4_096;

/** The disk of the data folder, as far as users may fill it. */
export function roomOfUsers(dataFolder: string): DiskRoom {
  return createDiskRoom(dataFolder, { reserveOf: (diskBytes) => Math.min(RESERVE_BYTES, diskBytes / RESERVE_PART) });
}

/** The same storage, but what is written to it leaves the reserve of the disk. */
export function withDiskReserve(driver: StorageDriver, room: DiskRoom): StorageDriver {
  const operations = operationsOf(driver);
  const { write, makeDirectory, copy, openDraft, writeMany } = operations;
  return decorated({
    ...operations,
    write:
      write &&
      (async (file, content, options) => {
        // Early, where it can be told.
        await room.require(BLOCK_BYTES + (options.sizeBytes ?? 0));
        return write(file, counted(content, room), options);
      }),
    writeMany:
      writeMany &&
      (async (files, options) => {
        await room.take(files.reduce((sum, { content }) => sum + onDisk(content.byteLength), 0));
        return writeMany(files, options);
      }),
    makeDirectory:
      makeDirectory &&
      (async (path, options) => {
        await room.take(BLOCK_BYTES).catch(async (refusal: unknown) => {
          // One that is there takes nothing more.
          const there = await driver.stat(path, options).catch(() => undefined);
          if (!there?.isDirectory) throw refusal;
        });
        return makeDirectory(path, options);
      }),
    copy:
      copy &&
      (async (from, to, options) => {
        const letGo = await room.hold(await bytesOf(driver, from, options));
        try {
          return await copy(from, to, options);
        } finally {
          letGo();
        }
      }),
    openDraft: openDraft && (async (file, id, options) => draftIn(room, await openDraft(file, id, options))),
  });
}

/** What a copy of an entry takes, with all that is in it. */
async function bytesOf(driver: StorageDriver, path: MountPath, options: CallOptions): Promise<number> {
  const entry = await driver.stat(path, options);
  let bytes = bytesOfOne(entry);
  if (entry.isDirectory) for await (const { entry: inner } of walkTree(driver, path, options)) bytes += bytesOfOne(inner);
  return bytes;
}

function bytesOfOne({ isDirectory, sizeBytes }: Entry): number {
  return onDisk(isDirectory ? 0 : (sizeBytes ?? 0));
}

function onDisk(sizeBytes: number): number {
  return Math.max(1, Math.ceil(sizeBytes / BLOCK_BYTES)) * BLOCK_BYTES;
}

function draftIn(room: DiskRoom, draft: Draft): Draft {
  return {
    ...operationsOfDraft(draft),
    write: (offsetBytes, content, options) => draft.write(offsetBytes, counted(content, room), options),
  };
}

async function* counted(content: AsyncIterable<Uint8Array>, room: DiskRoom): AsyncGenerator<Uint8Array, void> {
  for await (const piece of content) {
    await room.take(piece.byteLength);
    yield piece;
  }
}
