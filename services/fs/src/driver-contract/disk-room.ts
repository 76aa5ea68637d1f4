import { stat, statfs } from 'node:fs/promises';
import { AppError } from '@wharf/errors';

/** What is left free for everybody else on a disk, in bytes. */
const RESERVE_BYTES = 256 * 1024 * 1024;
/** The same in entries: most file systems have a number of them that never grows, and where it is used up nothing can be made however many bytes are free. */
const RESERVE_ENTRIES = 4_096;
const ENTRIES_PART = 20;
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
  /**
   * @param entries files and folders that are to be made
   * @throws AppError QUOTA_EXCEEDED: there is no room for so much | STORAGE_UNAVAILABLE: the disk does not say
   */
  require(bytes: number, entries?: number): Promise<void>;
  /** The same for what is about to be written, which counts from now on. */
  take(bytes: number, entries?: number): Promise<void>;
  /**
   * The same for what is written behind one call, which nobody sees come: nobody else has its room until that is over, also as far as it is there already.
   *
   * @returns to be called once it is
   */
  hold(bytes: number, entries?: number): Promise<() => void>;
}

export interface DiskRoomOptions {
  /** Of a small disk only such a part is left free, as one in so many; default: as much as of any. */
  readonly reservePart?: number;
  /** What is thrown where there is no room. */
  readonly refusal?: () => AppError;
}

/** So much of a disk. */
interface Amount {
  readonly bytes: number;
  readonly entries: number;
}

const NOTHING: Amount = { bytes: 0, entries: 0 };
/** Of a disk whose entries have no number. */
const ANY_NUMBER = Number.POSITIVE_INFINITY;

const plus = (one: Amount, other: Amount): Amount => ({ bytes: one.bytes + other.bytes, entries: one.entries + other.entries });
const minus = (one: Amount, other: Amount): Amount => ({ bytes: one.bytes - other.bytes, entries: one.entries - other.entries });
const fits = (wanted: Amount, left: Amount): boolean =>
  (wanted.bytes === 0 || wanted.bytes <= left.bytes) && (wanted.entries === 0 || wanted.entries <= left.entries);

/** What is known of one disk: all who fill it count on the same. */
interface Disk {
  size: Amount;
  /** As of the last look. */
  free: Amount;
  lookedAtMs: number;
  /** Of all that was taken ever, what the last look may have seen. */
  seen: Amount;
  taken: Amount;
  /** What calls have that are not over. */
  held: Amount;
  looking: Promise<void> | undefined;
}

/** By the numbers that the system gives them. */
const disks = new Map<number, Disk>();

/** The room on the disk of a folder, of which all rooms on that disk take. Only the reserve and the refusal are each one's own. */
export function createDiskRoom(folder: string, { reservePart, refusal = noRoom }: DiskRoomOptions = {}): DiskRoom {
  let known: Disk | undefined;
  const leftOf = ({ size, free, seen, taken, held }: Disk): Amount => {
    const reserve = {
      bytes: reservePart === undefined ? RESERVE_BYTES : Math.min(RESERVE_BYTES, size.bytes / reservePart),
      // Some disks have fewer of them in all, however large they are.
      entries: Math.min(RESERVE_ENTRIES, size.entries / (reservePart ?? ENTRIES_PART)),
    };
    return minus(minus(minus(free, minus(taken, seen)), held), reserve);
  };
  /** @param count in the same turn, so that of several at a time none is overlooked */
  const admit = async (wanted: Amount, count: (disk: Disk) => void = () => {}) => {
    if (wanted.bytes === 0 && wanted.entries === 0) return;
    if (known === undefined || !fits(wanted, leftOf(known)) || performance.now() - known.lookedAtMs > LOOK_MS) known = await lookAt(folder);
    if (!fits(wanted, leftOf(known))) throw refusal();
    count(known);
  };
  return {
    async holds(other) {
      const [own, its] = await Promise.all([stat(folder), stat(other)]).catch(() => [undefined, undefined]);
      return own !== undefined && own.dev === its?.dev;
    },
    require: (bytes, entries = 0) => admit({ bytes, entries }),
    take(bytes, entries = 0) {
      const wanted = { bytes, entries };
      return admit(wanted, (disk) => {
        disk.taken = plus(disk.taken, wanted);
      });
    },
    async hold(bytes, entries = 0) {
      const wanted = { bytes, entries };
      let letGo = () => {};
      await admit(wanted, (disk) => {
        disk.held = plus(disk.held, wanted);
        letGo = () => {
          disk.held = minus(disk.held, wanted);
          // It may be written. Where it is not, the next look tells.
          disk.taken = plus(disk.taken, wanted);
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
    const unknown = { size: NOTHING, free: NOTHING, lookedAtMs: Number.NEGATIVE_INFINITY, seen: NOTHING, taken: NOTHING, held: NOTHING };
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
  const { taken: seen } = disk;
  const { bavail, blocks, bsize, files, ffree } = await statfs(folder);
  const hasNumber = files > 0;
  const size = { bytes: blocks * bsize, entries: hasNumber ? files : ANY_NUMBER };
  const free = { bytes: bavail * bsize, entries: hasNumber ? ffree : ANY_NUMBER };
  Object.assign(disk, { size, free, lookedAtMs: performance.now(), seen });
}

function noRoom(): AppError {
  return new AppError('QUOTA_EXCEEDED', 'the disk has no room beside what Wharf itself needs on it');
}
