import type { Answer } from '../api/call.ts';

/** What a folder's listing tells of a file or folder. */
export type Entry = Answer<'/api/fs/list'>['content'][number];

export interface Order {
  readonly by: 'name' | 'size' | 'modified' | 'kind';
  readonly isDescending: boolean;
}

/** Numbers in names by their value, letters without regard to case. */
const names = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });

/** What stands behind the last dot, in small letters; empty: nothing does. */
export function extensionOf(name: string): string {
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : '';
}

const COMPARE: Readonly<Record<Order['by'], (left: Entry, right: Entry) => number>> = {
  name: (left, right) => names.compare(left.name, right.name),
  size: (left, right) => left.size - right.size,
  modified: (left, right) => Date.parse(left.modified) - Date.parse(right.modified),
  kind: (left, right) => names.compare(extensionOf(left.name), extensionOf(right.name)),
};

/** A sorted copy, folders first; equal entries by name. */
export function sortEntries(entries: readonly Entry[], { by, isDescending }: Order): Entry[] {
  const compare = COMPARE[by];
  const sign = isDescending ? -1 : 1;
  return entries.toSorted(
    (left, right) => Number(right.is_dir) - Number(left.is_dir) || sign * compare(left, right) || names.compare(left.name, right.name),
  );
}
