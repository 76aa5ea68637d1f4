import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Collects the whole heap at once. `last-resort` gives back to the system what is free after that. */
export type CollectGarbage = (flavor: 'regular' | 'last-resort') => void;

/** V8's collector. It holds the thread, for some 0.2 s where 256 MB are held. */
export function createGarbageCollector(): CollectGarbage {
  setFlagsFromString('--expose-gc');
  // Contexts made from now on have it.
  const gc: NodeJS.GCFunction = runInNewContext('gc');
  return (flavor) => gc({ type: 'major', execution: 'sync', flavor });
}
