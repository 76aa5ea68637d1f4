import { getHeapStatistics } from 'node:v8';
import { AppError } from '@wharf/errors';
import type { EntryName } from '@wharf/paths';

const MIB = 1024 * 1024;
/** What long listings may hold together, whatever memory there is: some 500,000 entries with short names. */
const MAX_BYTES = 140 * MIB;
/** As a fraction of the heap. */
const HEAP_SHARES = 4;
/** Of that, for one caller: guests of one address are one, and two of them may list the same long folder. */
const SHARE = 0.75;
/** A listing whose names, or entries, take no more is short. Those have a room of their own, so that they go on while long ones take all there is. */
const SHORT_BYTES = MIB / 4;
/** That room, as a fraction of the other. */
const SHORT_SHARES = 2;
/** What takes no more is not counted. */
const UNCOUNTED_BYTES = MIB / 64;
/** What an entry takes beside its name, what a name takes, and each letter of it where one of the text is not Latin. */
const [ENTRY_BYTES, NAME_BYTES, LETTER_BYTES] = [200, 40, 2];

/** One listing's part of the room. */
export interface RoomOfListing {
  /** Whose it is: turns of a storage are counted by that too. */
  readonly caller: string;
  /** Takes room for the names of a folder, which are counted once for all who have the very same. @throws AppError OVERLOADED: others are making too many */
  hold(names: readonly EntryName[]): void;
  /**
   * Takes room for so many entries, in the place of those that it has.
   *
   * @param letters of their names, which each listing has once more. @throws AppError OVERLOADED: the same
   */
  take(entries: number, letters?: number): void;
  /** Gives it all back. */
  leave(): void;
}

/** Begins a listing of a caller, which has no room yet. */
export type EnterRoom = (caller: string) => RoomOfListing;

interface HeldNames {
  readonly bytes: number;
  /** How many listings of each caller hold them: they count once for each, and once in all. */
  readonly holders: Map<string, number>;
}

/** Bounds what listings hold while they are made, however many are asked for at once. One that finds nobody else may be of any length. */
export function createEntryRoom(maxBytes = Math.min(MAX_BYTES, getHeapStatistics().heap_size_limit / HEAP_SHARES)): EnterRoom {
  const bytesOf = rememberBytes();
  const [enterLong, enterShort] = [createCountedRoom(maxBytes), createCountedRoom(maxBytes / SHORT_SHARES)];
  return (caller) => {
    const [long, short] = [enterLong(caller), enterShort(caller)];
    const rooms = (bytes: number) => (bytes > SHORT_BYTES ? { its: long, other: short } : { its: short, other: long });
    return {
      caller,
      hold(names) {
        const bytes = bytesOf(names);
        const { its, other } = rooms(bytes);
        other.leave();
        its.hold(names, bytes);
      },
      take(entries, letters = 0) {
        const bytes = ENTRY_BYTES * entries + LETTER_BYTES * letters;
        const { its, other } = rooms(bytes);
        other.take(0);
        its.take(bytes);
      },
      leave() {
        long.leave();
        short.leave();
      },
    };
  };
}

/** The same for what was measured already. */
interface CountedRoom {
  hold(names: readonly EntryName[], bytes: number): void;
  take(bytes: number): void;
  leave(): void;
}

function createCountedRoom(maxBytes: number): (caller: string) => CountedRoom {
  const heldNames = new Map<readonly EntryName[], HeldNames>();
  const takenBy = new Map<string, number>();
  let taken = 0;
  const countFor = (caller: string, bytes: number) => {
    const left = (takenBy.get(caller) ?? 0) + bytes;
    if (left > 0) takenBy.set(caller, left);
    else takenBy.delete(caller);
  };
  /** @param others what all have beside this listing. @param own what its caller has beside it */
  const requireRoom = (bytes: number, others: number, own: number) => {
    if (others > 0 && (others + bytes > maxBytes || (own > 0 && own + bytes > SHARE * maxBytes)))
      throw new AppError('OVERLOADED', 'too many long listings at once: try again in a moment, or ask for pages');
  };
  return (caller) => {
    let own = 0;
    let names: readonly EntryName[] = [];
    const count = (bytes: number) => {
      own += bytes;
      taken += bytes;
      countFor(caller, bytes);
    };
    const letGo = () => {
      const known = heldNames.get(names);
      if (!known) return;
      const left = (known.holders.get(caller) ?? 0) - 1;
      if (left > 0) known.holders.set(caller, left);
      else {
        known.holders.delete(caller);
        countFor(caller, -known.bytes);
      }
      if (known.holders.size === 0) {
        heldNames.delete(names);
        taken -= known.bytes;
      }
      names = [];
    };
    return {
      hold(wanted, bytes) {
        count(-own);
        letGo();
        if (bytes <= UNCOUNTED_BYTES) return;
        const known = heldNames.get(wanted) ?? { bytes, holders: new Map() };
        const held = known.holders.get(caller) ?? 0;
        if (known.holders.size === 0) {
          requireRoom(bytes, taken, takenBy.get(caller) ?? 0);
          heldNames.set(wanted, known);
          taken += bytes;
        }
        if (held === 0) countFor(caller, bytes);
        known.holders.set(caller, held + 1);
        names = wanted;
      },
      take(bytes) {
        count(-own);
        if (bytes <= UNCOUNTED_BYTES) return;
        const known = heldNames.get(names);
        const isOnly = known?.holders.get(caller) === 1;
        const ofNames = known && isOnly ? known.bytes : 0;
        requireRoom(bytes, taken - (known?.holders.size === 1 ? ofNames : 0), (takenBy.get(caller) ?? 0) - ofNames);
        count(bytes);
      },
      leave() {
        count(-own);
        letGo();
      },
    };
  };
}

/** What names take: added up once, for each page of a long folder asks. */
function rememberBytes(): (names: readonly EntryName[]) => number {
  const known = new WeakMap<readonly EntryName[], number>();
  return (names) => {
    const bytes = known.get(names) ?? names.reduce((sum, { length }) => sum + NAME_BYTES + LETTER_BYTES * length, 0);
    known.set(names, bytes);
    return bytes;
  };
}
