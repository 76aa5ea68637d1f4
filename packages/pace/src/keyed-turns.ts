import { createGate, type Gate, type Queue } from './gate.ts';

/** Runs work of a key, in the order in which it was asked for; of no key (undefined) at once. */
export type KeyedTurns<Key> = <Result>(key: Key | undefined, work: () => Promise<Result>) => Promise<Result>;

/**
 * Lets one work of each key run at a time. A key of which nothing runs or waits takes no room.
 *
 * @param queue how much of one key may wait, and the error for the rest; without it any number waits
 */
export function createKeyedTurns<Key>(queue?: Queue): KeyedTurns<Key> {
  const gates = new Map<Key, Gate>();
  return async (key, work) => {
    if (key === undefined) return work();
    const gate = gates.get(key) ?? createGate(1, queue);
    gates.set(key, gate);
    try {
      return await gate.run(work);
    } finally {
      if (gate.isIdle()) gates.delete(key);
    }
  };
}
