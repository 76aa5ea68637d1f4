import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** The memory that this process may fill, in bytes: of its container where that is bounded, else of the machine. */
export function memoryBytes(): number {
  // 0: nothing is known. Where there is no bound, Linux has one that no machine reaches.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}

/** What the process has for itself, unlike files that it maps, which the kernel takes back when it needs room; 0 where there is no Linux. */
export function ownBytes(): number {
  try {
    return Number(/^RssAnon:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
