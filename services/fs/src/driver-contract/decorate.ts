import { createListingRoom, type ListingRoom } from './listing-room.ts';
import type { StorageDriver } from './storage-driver.ts';
import { withBoundedListings } from './with-bounded-listings.ts';
import { withDeadline } from './with-deadline.ts';
import { type OfOthers, type StorageLimits, withLimits } from './with-limits.ts';
import { withListedNames } from './with-listed-names.ts';
import { type LoneNames, withLoneRemovals } from './with-lone-removals.ts';
import { withPresentRoot } from './with-present-root.ts';
import { withResumedReads } from './with-resumed-reads.ts';
import { withRetry } from './with-retry.ts';
import { withTraits } from './with-traits.ts';

/** What a storage may take for each call, in milliseconds: one that hangs holds nobody for longer. */
const DEADLINES = { callMs: 30_000, stallMs: 60_000, commitMs: 300_000, treeMs: 3_600_000 } as const;
/** Alias and Crypt go by other storages, where tasks wait for their turn: that is no failure of theirs. */
const DEADLINES_WITH_TURNS = { ...DEADLINES, turnMs: 600_000 } as const;
/** On a slow line a store answers for a part long after the system has taken it. */
const REMOTE_DEADLINES = { ...DEADLINES, stallMs: 120_000 } as const;
const MAX_LISTING_MS = 600_000;

interface Around {
  /** What the driver counts its listings in, where it holds some of them itself. */
  readonly room?: ListingRoom;
  /** Where contents wait whose size is not known; the system's folder for temporary files by default. */
  readonly spoolFolder?: string | undefined;
  /** Of all drivers of this storage; its own by default. */
  readonly names?: LoneNames | undefined;
}

/**
 * A driver as the rest of the service uses it.
 *
 * @param limits of a storage behind a network; undefined: it is this machine's own, where listings do not end by themselves neither
 */
export function decorate(
  driver: StorageDriver,
  limits: StorageLimits | OfOthers | undefined,
  { room = createListingRoom(), spoolFolder, names }: Around = {},
): StorageDriver {
  if (!limits || limits === 'of others') {
    const deadlines = limits ? DEADLINES_WITH_TURNS : DEADLINES;
    return withTraits(
      withLoneRemovals(withPresentRoot(withDeadline(withRetry(driver), deadlines), limits !== undefined), names),
      spoolFolder,
    );
  }
  const listing = withBoundedListings(driver, { room, maxMs: MAX_LISTING_MS });
  const bounded = withPresentRoot(withListedNames(withDeadline(withResumedReads(withRetry(listing)), REMOTE_DEADLINES)));
  // The lanes are around it: a turn that does not come is no failure of the storage. What is refused, or not whole yet, takes no turn.
  // What gets a name waits for a removal around the deadlines, which are the storage's, and within the lanes, so that the removal has its turn by then.
  return withTraits(withLimits(withLoneRemovals(bounded, names), limits), spoolFolder);
}
