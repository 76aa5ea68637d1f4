import { AppError } from '@wharf/errors';
import { type MountPath, parentPath, pathSegments } from '@wharf/paths';
import { decorated, operationsOf, operationsOfDraft } from '../../driver-contract/complete-driver.ts';
import { BLOCK_BYTES, bytesOnDisk, createDiskRoom, type DiskRoom, RESERVE_BYTES } from '../../driver-contract/disk-room.ts';
import type { Draft, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';

/** Of a small disk users leave only a part of it free: so much of the whole. A store without any room can neither log anybody in nor note what they did. */
const RESERVE_PART = 20;

/** The disk of the data folder, as far as users may fill it. */
export function roomOfUsers(dataFolder: string): DiskRoom {
  return createDiskRoom(dataFolder, { reserveOf: (diskBytes) => Math.min(RESERVE_BYTES, diskBytes / RESERVE_PART) });
}

/** The same storage, but what is written to it leaves the reserve of the disk. Its copies must ask `beforeCopy`. */
export function withDiskReserve(driver: StorageDriver, room: DiskRoom): StorageDriver {
  const operations = operationsOf(driver);
  const { write, makeDirectory, copy, openDraft, writeMany } = operations;
  return decorated({
    ...operations,
    write:
      write &&
      (async (file, content, options) => {
        // Early, where it can be told.
        await room.require(bytesOfWay(file) + (options.sizeBytes ?? 0));
        await room.take(bytesOfWay(file));
        return write(file, counted(content, room), options);
      }),
    writeMany:
      writeMany &&
      (async (files, options) => {
        const refusals: (AppError | undefined)[] = [];
        for (const { file, content } of files)
          refusals.push(await refusalOf(room.take(bytesOfWay(parentPath(file)) + bytesOnDisk(content.byteLength))));
        const admitted = files.filter((_, index) => refusals[index] === undefined);
        const written = admitted.length === 0 ? [] : await writeMany(admitted, options);
        const outcomes = written.values();
        return refusals.map((refusal) => refusal ?? outcomes.next().value ?? new AppError('INTERNAL', 'a file has no outcome'));
      }),
    makeDirectory:
      makeDirectory &&
      (async (path, options) => {
        await room.take(bytesOfWay(path)).catch(async (refusal: unknown) => {
          // One that is there takes nothing more.
          const there = await driver.stat(path, options).catch(() => undefined);
          if (!there?.isDirectory) throw refusal;
        });
        return makeDirectory(path, options);
      }),
    copy:
      copy &&
      (async (from, to, options) => {
        let letGo = () => {};
        let isOver = false;
        const beforeCopy = async (bytes: number) => {
          const leave = await room.hold(bytes);
          if (isOver) {
            // Nobody would let go of it any more.
            leave();
            throwIfAborted(options.signal);
            throw storageError('CANCELLED');
          }
          letGo = leave;
        };
        try {
          return await copy(from, to, { ...options, beforeCopy });
        } finally {
          isOver = true;
          letGo();
        }
      }),
    openDraft:
      openDraft &&
      (async (file, id, options) => {
        if (options.create) await room.take(bytesOfWay(file));
        return draftIn(room, await openDraft(file, id, options));
      }),
  });
}

/** What an empty entry takes at most, with all that is missing above it. */
function bytesOfWay(path: MountPath): number {
  return pathSegments(path).length * BLOCK_BYTES;
}

function refusalOf(taking: Promise<void>): Promise<AppError | undefined> {
  return taking.then(() => undefined, AppError.from);
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
