import { collectGarbage } from '@wharf/pace';

/** What the heap holds that is no garbage. */
export function usedBytes(): number {
  collectGarbage('regular');
  return process.memoryUsage().heapUsed;
}
