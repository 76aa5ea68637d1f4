import type { CounterRecord, EntryChangeRecord, Models } from '@wharf/models';

/** What changed, in the store: for replicas that the bus does not reach. */
export interface ChangeLog {
  init(): Promise<void>;
  append(replica: string, paths: readonly string[]): Promise<void>;
  /** The number of the newest change; 0 when there was none. */
  newest(): Promise<number>;
  /** Changes with a greater number, in order. One with a smaller number than those seen may still come: numbers are drawn before changes are written. */
  since(number: number): Promise<readonly EntryChangeRecord[]>;
}

const COUNTER = 'entry-changes';

export function createChangeLog({ entryChanges, fsCounters }: Models): ChangeLog {
  return {
    init: () => entryChanges.createIndexes(),
    async append(replica, paths) {
      const counter = await fsCounters
        .findOneAndUpdate({ _id: COUNTER }, { $inc: { value: 1 } }, { upsert: true, returnDocument: 'after' })
        .lean<CounterRecord>();
      if (!counter) throw new Error('an upsert answers the document');
      await entryChanges.create({ _id: counter.value, replica, paths: [...paths], at: new Date() });
    },
    newest: async () => (await fsCounters.findById(COUNTER).lean<CounterRecord>())?.value ?? 0,
    since: (number) =>
      entryChanges
        .find({ _id: { $gt: number } })
        .sort({ _id: 1 })
        .lean<EntryChangeRecord[]>(),
  };
}
