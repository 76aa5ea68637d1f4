import { stat, statfs } from 'node:fs/promises';
import { AppError } from '@wharf/errors';
import { decorated, operationsOf, operationsOfDraft } from '../../driver-contract/complete-driver.ts';
import { RESERVE_BYTES } from '../../driver-contract/own-folder.ts';
import type { Draft, StorageDriver } from '../../driver-contract/storage-driver.ts';

/** Of a small disk users leave only a part of it free: so much of the whole. A store without any room can neither log anybody in nor note what they did. */
const RESERVE_PART = 20;
/** A look at the disk counts for so long, in milliseconds, less what was written since. */
const LOOK_MS = 1_000;

/** The disk that a folder is on, as far as users may fill it. */
export interface DiskRoom {
  /** Whether a folder is on this disk. */
  holds(folder: string): Promise<boolean>;
  /** @throws AppError QUOTA_EXCEEDED: there is no room for so many bytes | STORAGE_UNAVAILABLE: the disk does not say */
  require(bytes: number): Promise<void>;
  /** The same for bytes that are about to be written, which count from now on. */
  take(bytes: number): Promise<void>;
}

export function createDiskRoom(folder: string): DiskRoom {
  let left = 0;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  const look = async () => {
    const { bavail, blocks, bsize } = await statfs(folder).catch((cause: unknown) => {
      throw new AppError('STORAGE_UNAVAILABLE', 'the disk of the data folder does not say how much room it has', { cause });
    });
    lookedAtMs = performance.now();
    left = bavail * bsize - Math.min(RESERVE_BYTES, (blocks * bsize) / RESERVE_PART);
  };
  const require = async (bytes: number) => {
    if (bytes === 0) return;
    if (bytes > left || performance.now() - lookedAtMs > LOOK_MS) await look();
    if (bytes > left) throw new AppError('QUOTA_EXCEEDED', 'the disk has no room beside what Wharf itself needs on it');
  };
  return {
    async holds(other) {
      const [own, its] = await Promise.all([stat(folder), stat(other)]).catch(() => [undefined, undefined]);
      return own !== undefined && own.dev === its?.dev;
    },
    require,
    async take(bytes) {
      await require(bytes);
      left -= bytes;
    },
  };
}

/** The same storage, but what is written to it leaves the reserve of the disk. */
export function withDiskReserve(driver: StorageDriver, room: DiskRoom): StorageDriver {
  const operations = operationsOf(driver);
  const { write, copy, openDraft, writeMany } = operations;
  /** Copies are written behind one call: what those under way may still take is looked for beside each new one. */
  let copiedBytes = 0;
  return decorated({
    ...operations,
    write:
      write &&
      (async (file, content, options) => {
        // Early, where it can be told; what was announced may come for hours, so it counts as it comes.
        await room.require(options.sizeBytes ?? 0);
        return write(file, counted(content, room), options);
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
        const { isDirectory, sizeBytes } = await driver.stat(from, options);
        const bytes = isDirectory ? 0 : (sizeBytes ?? 0);
        await room.require(bytes === 0 ? 0 : copiedBytes + bytes);
        copiedBytes += bytes;
        try {
          return await copy(from, to, options);
        } finally {
          copiedBytes -= bytes;
        }
      }),
    openDraft: openDraft && (async (file, id, options) => draftIn(room, await openDraft(file, id, options))),
  });
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
