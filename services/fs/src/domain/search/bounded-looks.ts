import { AppError } from '@wharf/errors';
import { unlessAborted } from '@wharf/pace';
import type { VirtualPath } from '@wharf/paths';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { getEntry } from '../reading/get-entry.ts';
import { locate, type Snapshot } from '../snapshot/snapshot.ts';
import { isGone } from './gone-folders.ts';

/** A storage that was asked for this long in all, in milliseconds, holds up the index of others no longer. */
const LATE_MS = 5_000;

/** What is at a path; an error where its storage does not tell, or not in time: something may be there then. */
export type Look = Entry | 'gone' | AppError;

/** Looks at entries for the index. Each storage has a time for all of them. */
export interface BoundedLooks {
  at(path: VirtualPath, signal?: AbortSignal): Promise<Look>;
  /** At the root of the storage at this place: the place itself is a folder whether that answers or not. */
  storage(place: VirtualPath, signal?: AbortSignal): Promise<Look>;
}

/** @param lateMs another time is given by tests only */
export function createBoundedLooks(snapshot: Snapshot, lateMs = LATE_MS): BoundedLooks {
  /** How long each storage was asked, by its place. */
  const askedMs = new Map<VirtualPath, number>();
  const look = async (path: VirtualPath, outer: AbortSignal | undefined, read: (signal: AbortSignal) => Promise<Entry>): Promise<Look> => {
    const place = snapshot.table.locate(path)?.mountedAt ?? path;
    const asked = askedMs.get(place) ?? 0;
    if (asked >= lateMs) return late();
    const since = performance.now();
    const end = AbortSignal.timeout(Math.ceil(lateMs - asked));
    const signal = outer ? AbortSignal.any([outer, end]) : end;
    try {
      return await unlessAborted(signal, read(signal));
    } catch (error) {
      if (signal.aborted) return late();
      return isGone(error) ? 'gone' : AppError.from(error);
    } finally {
      askedMs.set(place, end.aborted ? lateMs : asked + performance.now() - since);
    }
  };
  return {
    at: (path, outer) => look(path, outer, async (signal) => (await getEntry(snapshot, path, { signal })).entry),
    storage: (place, outer) =>
      look(place, outer, async (signal) => {
        const { mount, path } = locate(snapshot, place);
        return (await mount.driver()).stat(path, { signal });
      }),
  };
}

function late(): AppError {
  return new AppError('STORAGE_UNAVAILABLE', 'the storage did not answer in time');
}
