import { totalmem } from 'node:os';

/** The memory that this process may fill, in bytes: of its container where that is bounded, else of the machine. */
export function memoryBytes(): number {
  // 0: nothing is known. Where there is no bound, Linux has one that no machine reaches.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}
