import { configurationChanged } from '@wharf/models';
import type { Bus } from '@wharf/service-kit';
import type { Counters } from '../store/counters.ts';

/**
 * Raises the revision of the configuration and tells everybody, after a change was written.
 *
 * @param storageId the storage that changed, when it was one.
 * @returns the revision that has the change
 */
export type AnnounceChange = (storageId?: number) => Promise<number>;

export function createAnnounceChange(counters: Counters, bus: Bus): AnnounceChange {
  return async (storageId) => {
    const revision = await counters.nextRevision();
    bus.publish(configurationChanged, storageId === undefined ? { revision } : { revision, storageId });
    return revision;
  };
}
