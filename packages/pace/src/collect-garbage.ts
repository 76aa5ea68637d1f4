import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let gc: NodeJS.GCFunction | undefined;

/**
 * Collects the whole heap at once. It holds the thread: some 50 ms for each 100 MB that are held, and several times as long for a `last-resort`, which
 * alone gives back to the system what is free after that.
 */
export function collectGarbage(flavor: 'regular' | 'last-resort'): void {
  gc ??= exposed();
  gc({ type: 'major', execution: 'sync', flavor });
}

function exposed(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc');
  // Contexts made from now on have it.
  return runInNewContext('gc');
}
