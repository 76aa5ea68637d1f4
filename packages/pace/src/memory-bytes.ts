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

/** The same of the processes that this one has begun, with those that they have; 0 where the system does not name them. @param without which do not count */
export function childrenBytes(without: ReadonlySet<number>, of = process.pid): number {
  const children = read(`/proc/${of}/task/${of}/children`).split(' ').filter(Boolean).map(Number);
  const counted = children.filter((child) => !without.has(child));
  return counted.reduce((sum, child) => sum + bytesOf(child) + childrenBytes(without, child), 0);
}

function bytesOf(process: number | 'self'): number {
  return Number(/^RssAnon:\s*(\d+)/m.exec(read(`/proc/${process}/status`))?.[1] ?? 0) * 1024;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
