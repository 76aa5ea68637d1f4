import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What the heap holds that is no garbage. */
export function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as NodeJS.GCFunction)();
  return process.memoryUsage().heapUsed;
}
