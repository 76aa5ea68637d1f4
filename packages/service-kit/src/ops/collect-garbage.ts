import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects the whole heap at once. It holds the thread: some 50 ms for each 100 MB that are held, and several times as long for a `last-resort`, which
 * alone gives back to the system what is free after that.
 */
export type CollectGarbage = (flavor: 'regular' | 'last-resort') => void;

export function createGarbageCollector(): CollectGarbage {
  setFlagsFromString('--expose-gc');
  // Contexts made from now on have it.
  const gc: NodeJS.GCFunction = runInNewContext('gc');
  return (flavor) => gc({ type: 'major', execution: 'sync', flavor });
}
