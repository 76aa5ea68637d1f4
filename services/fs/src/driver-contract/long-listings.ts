import { AppError } from '@wharf/errors';
import { memoryBytes } from '@wharf/pace';
import { createLane, type Lane } from './lane.ts';
import type { CallOptions, Entry } from './storage-driver.ts';

/** What the names of long folders may take that are held at a time for one purpose, in bytes, and each of their letters: in a thread, on the way and here. */
const ROOM_BYTES = memoryBytes() / 4;
const BYTES_PER_LETTER = 5;
/** What a letter of a name takes where one of the text is not Latin, as drivers count them. */
export const LETTER_BYTES = 2;
const WAIT_MS = 30_000;
const listings = createNamesLane();
/** One of those who wait as long as it takes, so that others wait for one of them at most. */
const patient = createLane({ size: 1, share: 1 });

/** A lane for the names of long folders, in bytes. */
export function createNamesLane(): Lane {
  return createLane({ size: ROOM_BYTES, share: ROOM_BYTES / 2, waitMs: WAIT_MS });
}

/** What the names of a folder take of it, by their letters. */
export function namesRoom(letters: number): number {
  return Math.min(ROOM_BYTES, BYTES_PER_LETTER * letters);
}

/**
 * Goes through all entries of a long folder of this machine, whose names are held until the end, in a turn of all storages together.
 *
 * @throws AppError OVERLOADED: the turn did not come in time | CANCELLED; what the work throws
 */
export function throughLongFolder<Result>(letters: number, options: CallOptions, work: () => Promise<Result>): Promise<Result> {
  const run = () => listings.run(options, work, namesRoom(letters));
  return options.isPatient ? patient.run(options, run) : run();
}

/**
 * Lists a folder, in a turn where it is a long one of this machine.
 *
 * @param list is called again then; nothing was listed before
 * @param inTurn as throughLongFolder(). @throws what list and inTurn throw
 */
export async function listInTurn<Result>(
  options: CallOptions,
  list: (options: CallOptions) => Promise<Result>,
  inTurn: typeof throughLongFolder<Result> = throughLongFolder,
): Promise<Result> {
  let bytes = 0;
  const beforeNames = (told: number) => {
    bytes = told;
    throw new AppError('CANCELLED', 'a long folder is listed in its turn');
  };
  try {
    return await list({ ...options, beforeNames });
  } catch (error) {
    if (bytes === 0) throw error;
    return inTurn(bytes / LETTER_BYTES, options, () => list(options));
  }
}

/** A listing of one of several folders. */
type List = (options: CallOptions) => AsyncIterable<Entry> | Promise<AsyncIterable<Entry>>;

/**
 * Tells what the names of all folders of a listing take before its first entry: whoever is told may end it, and list all of them anew.
 *
 * @param lists one for each folder. @returns what these are to be listed with. @throws what beforeNames throws
 */
export async function tellOfAllNames(lists: readonly List[], options: CallOptions): Promise<CallOptions> {
  const { beforeNames, ...rest } = options;
  if (!beforeNames || lists.length <= 1) return options;
  let bytes = 0;
  for (const list of lists) bytes += await longNamesOf(list, rest);
  if (bytes > 0) beforeNames(bytes);
  return rest;
}

/** What the names of a folder of this machine take, in bytes, none of which is read where they are many; 0 where they are few. */
export async function longNamesOf(list: List, options: CallOptions): Promise<number> {
  let bytes = 0;
  const beforeNames = (told: number) => {
    bytes = told;
    throw new AppError('CANCELLED', 'nothing is listed yet');
  };
  try {
    for await (const _first of await list({ ...options, beforeNames })) break;
  } catch {
    // What is wrong with it is said when it is listed.
  }
  return bytes;
}
