import { AppError } from '@wharf/errors';
import { unlessAborted } from '@wharf/pace';
import type { VirtualPath } from '@wharf/paths';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { getEntry } from '../reading/get-entry.ts';
import { locate, type Snapshot } from '../snapshot/snapshot.ts';
import { isGone, lookAtRoot } from './gone-folders.ts';

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
  const storage: BoundedLooks['storage'] = (place, outer) =>
    look(place, outer, (signal) => lookAtRoot(locate(snapshot, place), { signal }));
  /** Of each storage in which something was gone. */
  const roots = new Map<VirtualPath, Promise<Look>>();
  return {
    async at(path, outer) {
      const found = await look(path, outer, async (signal) => (await getEntry(snapshot, path, { signal })).entry);
      const place = snapshot.table.locate(path)?.mountedAt;
      if (found !== 'gone' || place === undefined) return found;
      const root = roots.get(place) ?? storage(place, outer);
      roots.set(place, root);
      const why = await root;
      return AppError.is(why) ? why : 'gone';
    },
    storage,
  };
}

function late(): AppError {
  return new AppError('STORAGE_UNAVAILABLE', 'the storage did not answer in time');
}
