import { stat, statfs } from 'node:fs/promises';
import { AppError } from '@wharf/errors';

/** What is left free for everybody else on a disk, in bytes. */
export const RESERVE_BYTES = 256 * 1024 * 1024;
/** A look at the disk counts for so long, in milliseconds, less what was written since. */
const LOOK_MS = 1_000;

/** The disk that a folder is on, as far as it may be filled. What is announced may come for hours, so only what comes counts. */
export interface DiskRoom {
  /** Whether a folder is on this disk. */
  holds(folder: string): Promise<boolean>;
  /** @throws AppError QUOTA_EXCEEDED: there is no room for so many bytes | STORAGE_UNAVAILABLE: the disk does not say */
  require(bytes: number): Promise<void>;
  /** The same for bytes that are about to be written, which count from now on. */
  take(bytes: number): Promise<void>;
  /**
   * The same for bytes that are written behind one call, which nobody sees come: nobody else has them until that is over, also as far as they are there already.
   *
   * @returns to be called once it is
   */
  hold(bytes: number): Promise<() => void>;
}

export interface DiskRoomOptions {
  /** What is left free of a disk of so many bytes; default: RESERVE_BYTES of any. */
  readonly reserveOf?: (diskBytes: number) => number;
  /** What is thrown where there is no room. */
  readonly refusal?: () => AppError;
}

export function createDiskRoom(folder: string, { reserveOf = () => RESERVE_BYTES, refusal = noRoom }: DiskRoomOptions = {}): DiskRoom {
  let left = 0;
  let held = 0;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  const look = async () => {
    const { bavail, blocks, bsize } = await statfs(folder).catch((cause: unknown) => {
      throw new AppError('STORAGE_UNAVAILABLE', 'the disk of the data folder does not say how much room it has', { cause });
    });
    lookedAtMs = performance.now();
    left = bavail * bsize - reserveOf(blocks * bsize);
  };
  /** @param count in the same turn, so that of several at a time none is overlooked */
  const find = async (bytes: number, count = () => {}) => {
    if (bytes === 0) return;
    if (bytes + held > left || performance.now() - lookedAtMs > LOOK_MS) await look();
    if (bytes + held > left) throw refusal();
    count();
  };
  return {
    async holds(other) {
      const [own, its] = await Promise.all([stat(folder), stat(other)]).catch(() => [undefined, undefined]);
      return own !== undefined && own.dev === its?.dev;
    },
    require: (bytes) => find(bytes),
    take: (bytes) =>
      find(bytes, () => {
        left -= bytes;
      }),
    async hold(bytes) {
      await find(bytes, () => {
        held += bytes;
      });
      return () => {
        held -= bytes;
      };
    },
  };
}

function noRoom(): AppError {
  return new AppError('QUOTA_EXCEEDED', 'the disk has no room beside what Wharf itself needs on it');
}
