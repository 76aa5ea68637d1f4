import { type CounterRecord, type EntryChangeRecord, type Models, makeIndexes, raiseCounter } from '@wharf/models';

/** What changed, in the store: for replicas that the bus does not reach. */
export interface ChangeLog {
  init(): Promise<void>;
  /** The number of changes that are written soon. */
  draw(): Promise<number>;
  /** @param number as it was drawn; absent: it is drawn now */
  append(replica: string, paths: readonly string[], number?: Promise<number>): Promise<void>;
  /** The greatest number that was drawn for a change, written or not; 0 when there was none. */
  newest(): Promise<number>;
  /**
   * Changes with a greater number, in order, some at a time. Numbers have no holes, but they are drawn before changes are written: one that is missing may come
   * yet, or was lost with who drew it, or is too old to be kept.
   */
  since(number: number): AsyncIterable<EntryChangeRecord>;
}

const COUNTER = 'entry-changes';
/** Changes that are read at a time: each may have 32 KiB of paths, and whoever could not read for a minute finds those of all replicas. */
const SOME = 200;

/** @param clock milliseconds since 1970, by the store, which removes them by its time */
export function createChangeLog({ entryChanges, fsCounters }: Models, clock: () => number): ChangeLog {
  const draw = () => raiseCounter(fsCounters, COUNTER);
  return {
    init: () => makeIndexes(entryChanges),
    draw,
    async append(replica, paths, number = draw()) {
      await entryChanges.create({ _id: await number, replica, paths: [...paths], at: new Date(clock()) });
    },
    newest: async () => (await fsCounters.findById(COUNTER).lean<CounterRecord>())?.value ?? 0,
    async *since(number) {
      for (let [from, isEnd] = [number, false]; !isEnd; ) {
        const found = entryChanges.find({ _id: { $gt: from } }).sort({ _id: 1 });
        const some = await found.limit(SOME).lean<EntryChangeRecord[]>();
        yield* some;
        from = some.at(-1)?._id ?? from;
        isEnd = some.length < SOME;
      }
    },
  };
}
