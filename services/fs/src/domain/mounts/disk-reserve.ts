import { AppError } from '@wharf/errors';
import { type MountPath, pathSegments } from '@wharf/paths';
import { decorated, operationsOf, operationsOfDraft } from '../../driver-contract/complete-driver.ts';
import { BLOCK_BYTES, bytesOnDisk, createDiskRoom, type DiskRoom } from '../../driver-contract/disk-room.ts';
import type { Draft, StorageDriver } from '../../driver-contract/storage-driver.ts';
import { storageError, throwIfAborted } from '../../driver-contract/storage-error.ts';

/** Of a small disk users leave only a part of it free: so much of the whole. A store without any room can neither log anybody in nor note what they did. */
const RESERVE_PART = 20;

/** The disk of the data folder, as far as users may fill it. @param refusal where there is no room */
export function roomOfUsers(dataFolder: string, refusal?: () => AppError): DiskRoom {
  return createDiskRoom(dataFolder, { reservePart: RESERVE_PART, ...(refusal && { refusal }) });
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
        const letGo = await holdWay(room, file);
        try {
          // What is above the file is there before its content is asked for.
          return await write(file, counted(content, room, letGo), options);
        } finally {
          letGo();
        }
      }),
    writeMany:
      writeMany &&
      (async (files, options) => {
        const held: ((() => void) | AppError)[] = [];
        for (const { file, content } of files)
          held.push(await holdWay(room, file, bytesOnDisk(content.byteLength) - BLOCK_BYTES).catch(AppError.from));
        try {
          const admitted = files.filter((_, index) => !AppError.is(held[index]));
          const written = admitted.length === 0 ? [] : await writeMany(admitted, options);
          const outcomes = written.values();
          return held.map((each) =>
            AppError.is(each) ? each : (outcomes.next().value ?? new AppError('INTERNAL', 'a file has no outcome')),
          );
        } finally {
          for (const letGo of held) if (!AppError.is(letGo)) letGo();
        }
      }),
    makeDirectory:
      makeDirectory &&
      (async (path, options) => {
        const letGo = await holdWay(room, path).catch(async (refusal: unknown) => {
          // One that is there takes nothing more.
          const there = await driver.stat(path, options).catch(() => undefined);
          if (!there?.isDirectory) throw refusal;
        });
        try {
          return await makeDirectory(path, options);
        } finally {
          letGo?.();
        }
      }),
    copy:
      copy &&
      (async (from, to, options) => {
        let letGo = () => {};
        let isOver = false;
        const beforeCopy = async (bytes: number, entries: number) => {
          const leave = await room.hold(bytes, entries);
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
        const letGo = options.create ? await holdWay(room, file) : undefined;
        try {
          return draftIn(room, await openDraft(file, id, options));
        } finally {
          letGo?.();
        }
      }),
  });
}

/** What an empty entry takes at most, with all that is missing above it. */
function bytesOfWay(path: MountPath): number {
  return pathSegments(path).length * BLOCK_BYTES;
}

/**
 * Holds that while it is made: many at a time may wait for the disk longer than a look at it counts.
 *
 * @param moreBytes that are in it. @returns as `DiskRoom.hold`; safe twice
 */
async function holdWay(room: DiskRoom, path: MountPath, moreBytes = 0): Promise<() => void> {
  let letGo: (() => void) | undefined = await room.hold(bytesOfWay(path) + moreBytes, pathSegments(path).length);
  return () => {
    letGo?.();
    letGo = undefined;
  };
}

function draftIn(room: DiskRoom, draft: Draft): Draft {
  return {
    ...operationsOfDraft(draft),
    write: (offsetBytes, content, options) => draft.write(offsetBytes, counted(content, room), options),
  };
}

/** @param onAsked the content is asked for */
async function* counted(content: AsyncIterable<Uint8Array>, room: DiskRoom, onAsked = () => {}): AsyncGenerator<Uint8Array, void> {
  onAsked();
  for await (const piece of content) {
    await room.take(piece.byteLength);
    yield piece;
  }
}
