import type { Answer } from '../api/call.ts';

/** What a folder's listing tells of a file or folder. */
export type Entry = Answer<'/api/fs/list'>['content'][number];

export interface Order {
  readonly by: 'name' | 'size' | 'modified';
  readonly isDescending: boolean;
}

/** Numbers in names by their value, letters without regard to case. */
export const names = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** What stands behind the last dot, in small letters; empty: nothing does. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : '';
}

const COMPARE: Readonly<Record<Order['by'], (left: Entry, right: Entry) => number>> = {
  name: (left, right) => names.compare(left.name, right.name),
  size: (left, right) => left.size - right.size,
  modified: (left, right) => Date.parse(left.modified) - Date.parse(right.modified),
};

/** So many are sorted or merged before the page does something else: some milliseconds. */
export const PIECE = 1_000;

/**
 * A sorted copy, folders first; equal entries by name. Long lists are sorted in pieces, between which the page goes on.
 *
 * @param pause lets the page do something else.
 */
export async function sortEntries(entries: readonly Entry[], { by, isDescending }: Order, pause = nextTask): Promise<Entry[]> {
  const compareValue = COMPARE[by];
  const sign = isDescending ? -1 : 1;
  const compare: Compare = (left, right) =>
    Number(right.is_dir) - Number(left.is_dir) || sign * compareValue(left, right) || names.compare(left.name, right.name);
  let runs: Entry[][] = [];
  for (let from = 0; from < entries.length; from += PIECE) {
    if (from > 0) await pause();
    runs.push(entries.slice(from, from + PIECE).sort(compare));
  }
  while (runs.length > 1) {
    const merged: Entry[][] = [];
    for (let index = 0; index < runs.length; index += 2) merged.push(await merge(runs[index] ?? [], runs[index + 1] ?? [], compare, pause));
    runs = merged;
  }
  return runs[0] ?? [];
}

type Compare = (left: Entry, right: Entry) => number;

/** Of two sorted lists one. */
async function merge(left: readonly Entry[], right: readonly Entry[], compare: Compare, pause: () => Promise<void>): Promise<Entry[]> {
  const merged: Entry[] = [];
  let taken = 0;
  for (const entry of left) {
    for (let next = right[taken]; next && compare(next, entry) < 0; next = right[taken]) {
      merged.push(next);
      taken += 1;
      if (merged.length % PIECE === 0) await pause();
    }
    merged.push(entry);
    if (merged.length % PIECE === 0) await pause();
  }
  return merged.concat(right.slice(taken));
}

/** Timers wait for at least four milliseconds when they follow each other; messages do not. */
export function nextTask(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
