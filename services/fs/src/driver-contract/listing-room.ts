import { AppError } from '@wharf/errors';
import { textBytes } from '@wharf/pace';
import type { Entry } from './storage-driver.ts';
import { tooManyFolders } from './walk-bound.ts';

const MIB = 1024 * 1024;
/** What the listings of one storage may hold together while they are made. */
const STORAGE_BYTES = 20 * MIB;
/** What those of all storages may hold. */
const PROCESS_BYTES = 192 * MIB;
/** A listing of no more is not counted: it goes on while others take all there is. */
const UNCOUNTED_BYTES = MIB / 4;

/** What one listing has of the room. */
export interface ListingShare {
  /**
   * @param besides what more of it is held than drivers hold; it counts among those of all storages
   * @throws AppError FAILED_PRECONDITION: by itself it is too long | OVERLOADED: others take the room
   */
  take(bytes: number, besides?: number): void;
  /** Gives so much of it back, all when absent: that is safe twice. */
  leave(bytes?: number): void;
}

/** Bounds what listings hold while they are made, however many are asked for at once and however long a server makes them. */
export interface ListingRoom {
  /** @param tooLong what is said where it does not fit by itself; of a folder, when absent */
  enter(tooLong?: () => AppError): ListingShare;
}

let takenInAll = 0;

/** The room of one storage. */
export function createListingRoom(maxBytes = STORAGE_BYTES, maxBytesInAll = PROCESS_BYTES): ListingRoom {
  let taken = 0;
  return {
    enter(tooLong = () => tooManyEntries(maxBytes)) {
      let [own, ownBesides] = [0, 0];
      return {
        take(bytes, besides = 0) {
          own += bytes;
          taken += bytes;
          ownBesides += besides;
          takenInAll += bytes + besides;
          if (own <= UNCOUNTED_BYTES) return;
          if (own > maxBytes) throw tooLong();
          if (taken > maxBytes || takenInAll > maxBytesInAll)
            throw new AppError('OVERLOADED', 'too many long folders are listed at once: try again in a moment');
        },
        leave(bytes = own) {
          taken -= bytes;
          own -= bytes;
          takenInAll -= bytes;
          if (own > 0) return;
          takenInAll -= ownBesides;
          ownBesides = 0;
        },
      };
    },
  };
}

/** The same room for a walk that goes down and holds a listing of each level: all that it holds counts as one listing. */
export function asOneListing(room: ListingRoom): ListingRoom {
  const all = room.enter(tooManyFolders);
  return {
    enter() {
      let own = 0;
      return {
        take(bytes) {
          own += bytes;
          all.take(bytes);
        },
        leave(bytes = own) {
          own -= bytes;
          all.leave(bytes);
        },
      };
    },
  };
}

function tooManyEntries(maxBytes: number): AppError {
  return new AppError('FAILED_PRECONDITION', `the folder has too many entries to be listed (over ${maxBytes} bytes)`);
}

/** What an entry takes beside its texts, in an EntryMap and among the names that a driver has seen. Measured, rounded up. */
const ENTRY_BYTES = 80;

/** What an entry takes while a folder is listed: its name is kept by who lists it and by who takes it. */
export function listedBytes({ name, version = '', hashes }: Entry): number {
  return ENTRY_BYTES + 2 * textBytes(name) + textBytes(version) + (hashes ? JSON.stringify(hashes).length : 0);
}
