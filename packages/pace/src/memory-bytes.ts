import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** The memory that this process may fill, in bytes: of its container where that is bounded, else of the machine. */
export function memoryBytes(): number {
  // 0: nothing is known. Where there is no bound, Linux has one that no machine reaches.
  return Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem());
}

/** What the process has for itself, unlike files that it maps, which the kernel takes back when it needs room; 0 where there is no Linux. */
export function ownBytes(): number {
  return bytesOf('self');
}

/** Those that this process has started, and that may take much of the same memory. */
const counted = new Set<number>();

/** Has a process that we have started count in {@link takenBytes}. @param ended aborted when it has ended */
export function countProcess(pid: number, ended: AbortSignal): void {
  if (ended.aborted) return;
  counted.add(pid);
  ended.addEventListener('abort', () => counted.delete(pid), { once: true });
}

/** As {@link ownBytes}, together with the processes that count. */
export function takenBytes(): number {
  let bytes = ownBytes();
  for (const pid of counted) bytes += bytesOf(pid);
  return bytes;
}

function bytesOf(process: number | 'self'): number {
  try {
    return Number(/^RssAnon:\s*(\d+)/m.exec(readFileSync(`/proc/${process}/status`, 'latin1'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
