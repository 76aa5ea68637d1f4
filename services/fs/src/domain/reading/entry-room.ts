import { AppError } from '@wharf/errors';

/** Entries of long listings that one process makes at a time: some 200 bytes each, beside their text. */
const MAX_ENTRIES = 500_000;
/** A listing of no more is not counted: it goes on while long ones take all there is. */
const UNCOUNTED_ENTRIES = 1_000;

/** One listing's part of the room. */
export interface RoomOfListing {
  /** Takes room for so many entries, in the place of what it has. @throws AppError OVERLOADED: others are making too many */
  take(entries: number): void;
  /** Gives it back. */
  leave(): void;
}

/** Begins a listing, which has no room yet. */
export type EnterRoom = () => RoomOfListing;

/** Bounds what listings hold while they are made, however many are asked for at once. One that finds nobody else may be of any length. */
export function createEntryRoom(maxEntries = MAX_ENTRIES): EnterRoom {
  let taken = 0;
  return () => {
    let own = 0;
    const leave = () => {
      taken -= own;
      own = 0;
    };
    return {
      leave,
      take(entries) {
        leave();
        if (entries <= UNCOUNTED_ENTRIES) return;
        if (taken > 0 && taken + entries > maxEntries)
          throw new AppError('OVERLOADED', 'too many long listings at once: try again in a moment, or ask for pages');
        own = entries;
        taken += own;
      },
    };
  };
}
