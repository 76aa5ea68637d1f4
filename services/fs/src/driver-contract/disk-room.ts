import { stat, statfs } from 'node:fs/promises';
import { AppError } from '@wharf/errors';

/** What is left free for everybody else on a disk, in bytes. */
export const RESERVE_BYTES = 256 * 1024 * 1024;
/** A look at the disk counts for so long, in milliseconds, less what was written since. */
const LOOK_MS = 1_000;

/** An entry takes a block of the disk, whatever is in it. */
export const BLOCK_BYTES = 4_096;

/** What a file or a folder of so many bytes takes of a disk. */
export function bytesOnDisk(sizeBytes: number): number {
  return Math.max(1, Math.ceil(sizeBytes / BLOCK_BYTES)) * BLOCK_BYTES;
}

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

/** What is known of one disk: all who fill it count on the same. */
interface Disk {
  sizeBytes: number;
  /** As of the last look. */
  freeBytes: number;
  lookedAtMs: number;
  /** Of all that was taken ever, what the last look may have seen. */
  seenBytes: number;
  takenBytes: number;
  /** What calls have that are not over. */
  heldBytes: number;
  looking: Promise<void> | undefined;
}

/** By the numbers that the system gives them. */
const disks = new Map<number, Disk>();

/** The room on the disk of a folder, of which all rooms on that disk take. Only the reserve and the refusal are each one's own. */
export function createDiskRoom(folder: string, { reserveOf = () => RESERVE_BYTES, refusal = noRoom }: DiskRoomOptions = {}): DiskRoom {
  let known: Disk | undefined;
  const leftBytes = ({ sizeBytes, freeBytes, seenBytes, takenBytes, heldBytes }: Disk) =>
    freeBytes - (takenBytes - seenBytes) - heldBytes - reserveOf(sizeBytes);
  /** @param count in the same turn, so that of several at a time none is overlooked */
  const admit = async (bytes: number, count: (disk: Disk) => void = () => {}) => {
    if (bytes === 0) return;
    if (known === undefined || bytes > leftBytes(known) || performance.now() - known.lookedAtMs > LOOK_MS) known = await lookAt(folder);
    if (bytes > leftBytes(known)) throw refusal();
    count(known);
  };
  return {
    async holds(other) {
      const [own, its] = await Promise.all([stat(folder), stat(other)]).catch(() => [undefined, undefined]);
      return own !== undefined && own.dev === its?.dev;
    },
    require: (bytes) => admit(bytes),
    take: (bytes) =>
      admit(bytes, (disk) => {
        disk.takenBytes += bytes;
      }),
    async hold(bytes) {
      let letGo = () => {};
      await admit(bytes, (disk) => {
        disk.heldBytes += bytes;
        letGo = () => {
          disk.heldBytes -= bytes;
          // They may be written. Where they are not, the next look tells.
          disk.takenBytes += bytes;
        };
      });
      return letGo;
    },
  };
}

/** Several who look at one disk at a time share the look. @throws AppError STORAGE_UNAVAILABLE */
async function lookAt(folder: string): Promise<Disk> {
  try {
    const { dev } = await stat(folder);
    const unknown = { sizeBytes: 0, freeBytes: 0, lookedAtMs: Number.NEGATIVE_INFINITY, seenBytes: 0, takenBytes: 0, heldBytes: 0 };
    const disk: Disk = disks.get(dev) ?? { ...unknown, looking: undefined };
    disks.set(dev, disk);
    disk.looking ??= measure(folder, disk).finally(() => {
      disk.looking = undefined;
    });
    await disk.looking;
    return disk;
  } catch (cause) {
    throw new AppError('STORAGE_UNAVAILABLE', 'the disk of the data folder does not say how much room it has', { cause });
  }
}

async function measure(folder: string, disk: Disk): Promise<void> {
  // What is taken from now on may be written later.
  const { takenBytes } = disk;
  const { bavail, blocks, bsize } = await statfs(folder);
  Object.assign(disk, { sizeBytes: blocks * bsize, freeBytes: bavail * bsize, lookedAtMs: performance.now(), seenBytes: takenBytes });
}

function noRoom(): AppError {
  return new AppError('QUOTA_EXCEEDED', 'the disk has no room beside what Wharf itself needs on it');
}
