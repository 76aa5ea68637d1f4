import { type CounterRecord, isDuplicateKey, type Models, REVISION, readAdminRevision } from '@wharf/models';

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
  const next = async (id: string): Promise<number> => {
    const raise = () =>
      adminCounters.findOneAndUpdate({ _id: id }, { $inc: { value: 1 } }, { upsert: true, returnDocument: 'after' }).lean<CounterRecord>();
    // Two first upserts of one id may both try to insert; the second then finds the record.
    const record = await raise().catch((error) => (isDuplicateKey(error) ? raise() : Promise.reject(error)));
    if (!record) throw new Error(`the counter ${id} vanished`);
    return record.value;
  };
  return {
    nextId: next,
    async reserveIds(kind, upTo) {
      const reserve = () => adminCounters.updateOne({ _id: kind }, { $max: { value: upTo } }, { upsert: true });
      await reserve().catch((error) => (isDuplicateKey(error) ? reserve() : Promise.reject(error)));
    },
    lastId: async (kind) => (await adminCounters.findById(kind).lean<CounterRecord>())?.value ?? 0,
    nextRevision: () => next(REVISION),
    revision: () => readAdminRevision(models),
  };
}
