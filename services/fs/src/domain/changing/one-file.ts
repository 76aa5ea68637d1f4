import { AppError } from '@wharf/errors';
import { childPath, parentPath, parseEntryName } from '@wharf/paths';
import { LRUCache } from 'lru-cache';
import { type Entry, type StorageDriver, supports } from '../../driver-contract/storage-driver.ts';
import { newProbeName } from '../../driver-contract/temp-names.ts';
import { hasOtherSize } from './looks-like-copy.ts';
import type { OwnCall, Place } from './operations/operation.ts';
import { statIfThere } from './stat-if-there.ts';

/** A storage that dates files itself is taken to tell whole seconds, in milliseconds. */
const OWN_STEP_MS = 1_000;
/** So many pairs of folders are remembered: files of one folder come one after the other. */
const MAX_PAIRS = 1_000;
/** For taking a file of ours away, in milliseconds, also when the caller has gone. */
const CLEAN_UP_MS = 30_000;

/** What is said of a move that could lose its file. */
export const mayBeOneFile = () => new AppError('FAILED_PRECONDITION', 'the source and the target may be one file; it stays');

/**
 * Whether a file may be the very one that is to replace it, as far as what their storages say of them tells: two storages can show one folder. A copy is
 * made later than its source, and on some storages can tell. Times are compared as coarsely as the coarser storage keeps them.
 */
export function looksLikeOneFile(source: Entry, from: StorageDriver, target: Entry, to: StorageDriver): boolean {
  if (hasOtherSize(source, target)) return false;
  // One storage says the same of one file each time.
  const stepMs = from === to ? 0 : Math.max(1, ...[from, to].map(({ traits }) => traits.modTimeStepMs ?? OWN_STEP_MS));
  const isNear = (one: Date, other: Date) => Math.abs(one.getTime() - other.getTime()) <= stepMs;
  if (!isNear(source.modifiedAt, target.modifiedAt)) return false;
  return !source.createdAt || !target.createdAt || isNear(source.createdAt, target.createdAt);
}

/** Finds out which folders are one, however they are mounted. */
export interface FolderPairs {
  /**
   * Whether the folders of two places are one, and so may be their files. A file is made in each of them, looked for in the other and removed: once for
   * each pair of folders. Within one opened storage, names of one folder are told apart by themselves.
   *
   * @throws AppError what the storages throw: nobody knows then
   */
  areOne(from: Place, to: Place): Promise<boolean>;
}

/** What is found out holds for as long as one attempt at something takes: what is mounted, and where links lead, changes. */
export function createFolderPairs(call: OwnCall): FolderPairs {
  /** By both paths; forgotten when either storage is opened anew. Most copies never ask, and to make it costs more than they do. */
  let known: LRUCache<string, Promise<boolean>> | undefined;
  let drivers: readonly [StorageDriver, StorageDriver] | undefined;
  return {
    areOne(from, to) {
      const [here, there] = [folderOf(from), folderOf(to)];
      if (from.driver === to.driver && here.path === there.path) return Promise.resolve(from.path === to.path);
      if (!known || drivers?.[0] !== from.driver || drivers[1] !== to.driver) known = new LRUCache({ max: MAX_PAIRS });
      drivers = [from.driver, to.driver];
      const pairs = known;
      const key = `${here.path}\0${there.path}`;
      const asked = pairs.get(key) ?? showOneFolder(here, there, call);
      pairs.set(key, asked);
      asked.catch(() => pairs.delete(key));
      return asked;
    },
  };
}

const folderOf = ({ driver, path }: Place): Place => ({ driver, path: parentPath(path) });

/** Both ways: a server may show late what others made, and a storage of several folders makes it in one of them. */
async function showOneFolder(from: Place, to: Place, call: OwnCall): Promise<boolean> {
  return (await showsWhatIsMade(to, from, call)) || (await showsWhatIsMade(from, to, call));
}

/** Makes a file in one folder, and looks for it in another. */
async function showsWhatIsMade(made: Place, shown: Place, call: OwnCall): Promise<boolean> {
  const { driver } = made;
  // It cannot be found out, so they may be one.
  if (!supports(driver, 'write') || !supports(driver, 'remove')) return true;
  const name = parseEntryName(newProbeName());
  const probe = childPath(made.path, name);
  try {
    await driver.write(probe, NOTHING, { overwrite: false, sizeBytes: 0, ...call });
    return (await statIfThere(shown.driver, childPath(shown.path, name), call)) !== undefined;
  } finally {
    // Where that fails it stays, empty and by a name that says what it is.
    await driver.remove(probe, { recursive: false, signal: AbortSignal.timeout(CLEAN_UP_MS) }).catch(() => undefined);
  }
}

const NOTHING: AsyncIterable<Uint8Array> = { async *[Symbol.asyncIterator]() {} };
