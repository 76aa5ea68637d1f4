import { stat, statfs } from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { decorated, operationsOf } from '../../driver-contract/complete-driver.ts';
import type { Draft, StorageDriver } from '../../driver-contract/storage-driver.ts';

/** What users leave free on the disk of the data folder, in bytes: a store without room can neither log anybody in nor note what they did. */
const RESERVE_BYTES = 256 * 1024 * 1024;
/** Of a small disk it is a part of it. */
const RESERVE_PART = 20;
/** A look at the disk counts for so long, in milliseconds, less what was written since. */
const LOOK_MS = 1_000;

/** The disk that a folder is on, as far as users may fill it. */
export interface DiskRoom {
  /** Whether a folder is on this disk. */
  holds(folder: string): Promise<boolean>;
  /** Counts bytes that are about to be written. @throws AppError QUOTA_EXCEEDED: none of them are to be */
  take(bytes: number): Promise<void>;
}

export function createDiskRoom(folder: string): DiskRoom {
  let left = 0;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  const look = async () => {
    lookedAtMs = performance.now();
    const { bavail, blocks, bsize } = await statfs(folder);
    left = bavail * bsize - Math.min(RESERVE_BYTES, (blocks * bsize) / RESERVE_PART);
  };
  return {
    async holds(other) {
      const [own, its] = await Promise.all([stat(folder), stat(other)]).catch(() => [undefined, undefined]);
      return own !== undefined && own.dev === its?.dev;
    },
    async take(bytes) {
      if (bytes > left || performance.now() - lookedAtMs > LOOK_MS) await look();
      if (bytes > left) throw new AppError('QUOTA_EXCEEDED', 'the disk has no room beside what Wharf itself needs on it');
      left -= bytes;
    },
  };
}

/** The same storage, but what is written to it leaves the reserve of the disk. */
export function withDiskReserve(driver: StorageDriver, room: DiskRoom): StorageDriver {
  const operations = operationsOf(driver);
  const { write, copy, openDraft, writeMany } = operations;
  return decorated({
    ...operations,
    write:
      write &&
      (async (file, content, options) => {
        if (options.sizeBytes === undefined) return write(file, counted(content, room), options);
        await room.take(options.sizeBytes);
        return write(file, content, options);
      }),
    writeMany:
      writeMany &&
      (async (files, options) => {
        await room.take(files.reduce((sum, { content }) => sum + content.byteLength, 0));
        return writeMany(files, options);
      }),
    copy:
      copy &&
      (async (from, to, options) => {
        const { isDirectory, sizeBytes = 0 } = await driver.stat(from, options);
        if (!isDirectory) await room.take(sizeBytes);
        return copy(from, to, options);
      }),
    openDraft: openDraft && (async (file, id, options) => draftIn(room, await openDraft(file, id, options))),
  });
}

function draftIn(room: DiskRoom, draft: Draft): Draft {
  return {
    partBytes: draft.partBytes,
    write: (offsetBytes, content, options) => draft.write(offsetBytes, counted(content, room), options),
    sync: () => draft.sync(),
    sizeBytes: () => draft.sizeBytes(),
    read: (options) => draft.read(options),
    publish: (options) => draft.publish(options),
    discard: () => draft.discard(),
    close: () => draft.close(),
  };
}

async function* counted(content: AsyncIterable<Uint8Array>, room: DiskRoom): AsyncGenerator<Uint8Array, void> {
  for await (const piece of content) {
    await room.take(piece.byteLength);
    yield piece;
  }
}
