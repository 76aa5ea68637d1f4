import { configurationChanged } from '@wharf/models';
import { type Bus, type ChangeAnnouncer, createChangeAnnouncer } from '@wharf/service-kit';
import type { Counters } from '../store/counters.ts';

/**
 * Raises the revision of the configuration and tells everybody, after a change was written.
 *
 * @param storageId the storage that changed, when it was one.
 * @returns the revision that has the change
 */
export type AnnounceChange = ChangeAnnouncer<number>['announce'];

export function createConfigurationAnnouncer(counters: Counters, bus: Bus, onError: (error: unknown) => void): ChangeAnnouncer<number> {
  return createChangeAnnouncer({
    nextRevision: counters.nextRevision,
    publish(revision, storageId) {
      bus.publish(configurationChanged, storageId === undefined ? { revision } : { revision, storageId });
      return bus.sent();
    },
    onError,
  });
}
