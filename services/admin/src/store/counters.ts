import { type CounterRecord, type Models, REVISION, raiseCounter, readAdminRevision, reserveCounter } from '@wharf/models';

export type CountedKind = 'storages' | 'rules';

/** Numbers that only rise, shared by all replicas. */
export interface Counters {
  /** An id that no record of the kind has had. */
  nextId(kind: CountedKind): Promise<number>;
  /** Makes sure that ids up to this one are not given out. */
  reserveIds(kind: CountedKind, upTo: number): Promise<void>;
  /** The last id given out or reserved; 0 when there was none ever. */
  lastId(kind: CountedKind): Promise<number>;
  /** Raises the revision of the configuration, after a change was written. */
  nextRevision(): Promise<number>;
  revision(): Promise<number>;
}

export function createCounters(models: Models): Counters {
  const { adminCounters } = models;
  const next = (id: string) => raiseCounter(adminCounters, id);
  return {
    nextId: next,
    reserveIds: (kind, upTo) => reserveCounter(adminCounters, kind, upTo),
    lastId: async (kind) => (await adminCounters.findById(kind).lean<CounterRecord>())?.value ?? 0,
    nextRevision: () => next(REVISION),
    revision: () => readAdminRevision(models),
  };
}
