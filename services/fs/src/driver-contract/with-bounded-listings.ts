import { AppError } from '@wharf/errors';
import { decorated, operationsOf } from './complete-driver.ts';
import { type ListingRoom, listedBytes } from './listing-room.ts';
import type { Entry, StorageDriver } from './storage-driver.ts';

export interface ListingBounds {
  /** What the entries of all folders that are listed may take. */
  readonly room: ListingRoom;
  /** How long one listing may take, with what its reader does in between. */
  readonly maxMs: number;
}

/** Ends a listing that has no end, or a folder too big to be held: a server may send names for ever. */
export function withBoundedListings(driver: StorageDriver, bounds: ListingBounds, clock = () => performance.now()): StorageDriver {
  return decorated({
    ...operationsOf(driver),
    list: (directory, options) => bounded(driver.list(directory, options), bounds, clock),
  });
}

async function* bounded(entries: AsyncIterable<Entry>, { room, maxMs }: ListingBounds, clock: () => number): AsyncGenerator<Entry, void> {
  const endAt = clock() + maxMs;
  const share = room.enter();
  try {
    for await (const entry of entries) {
      share.take(listedBytes(entry));
      if (clock() > endAt) throw new AppError('DEADLINE_EXCEEDED', 'the listing does not end');
      yield entry;
    }
  } finally {
    share.leave();
  }
}
