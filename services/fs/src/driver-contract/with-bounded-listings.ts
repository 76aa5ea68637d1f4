import { AppError } from '@wharf/errors';
import { decorated, operationsOf } from './complete-driver.ts';
import type { Entry, StorageDriver } from './storage-driver.ts';

export interface ListingBounds {
  /** What the entries of one folder may take in memory, roughly. */
  readonly maxBytes: number;
  /** How long one listing may take, with what its reader does in between. */
  readonly maxMs: number;
}

/** What an entry takes beside its name: measured on Node 24, rounded up. */
const ENTRY_BYTES = 160;

/** Ends a listing that has no end, or a folder too big to be held: a server may send names for ever. */
export function withBoundedListings(driver: StorageDriver, bounds: ListingBounds, clock = () => performance.now()): StorageDriver {
  return decorated({
    ...operationsOf(driver),
    list: (directory, options) => bounded(driver.list(directory, options), bounds, clock),
  });
}

async function* bounded(
  entries: AsyncIterable<Entry>,
  { maxBytes, maxMs }: ListingBounds,
  clock: () => number,
): AsyncGenerator<Entry, void> {
  const endAt = clock() + maxMs;
  let bytes = 0;
  for await (const entry of entries) {
    bytes += ENTRY_BYTES + 2 * (entry.name.length + (entry.version?.length ?? 0));
    if (bytes > maxBytes)
      throw new AppError('FAILED_PRECONDITION', `the folder has too many entries to be listed (over ${maxBytes} bytes)`);
    if (clock() > endAt) throw new AppError('DEADLINE_EXCEEDED', 'the listing does not end');
    yield entry;
  }
}
