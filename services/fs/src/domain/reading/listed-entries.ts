import { createPace, ownText } from '@wharf/pace';
import type { EntryName } from '@wharf/paths';
import { type EntryMap, takeEntries } from '../../driver-contract/entry-map.ts';
import type { Entry } from '../../driver-contract/storage-driver.ts';
import { type EntryOrder, sortEntries } from './sort-entries.ts';

/** The entries of one folder of a storage in the order of its listing; looked at only as far as somebody asks. */
export interface Folder {
  readonly names: readonly EntryName[];
  /** Stands for all entries as they are: whoever was given them under it has what it would be given again. Undefined: they are looked at each time. */
  readonly whole?: object;
  isDirectory(name: EntryName): boolean;
  /** In the order of the names given; what is gone meanwhile is left out. */
  entries(names: readonly EntryName[], signal: AbortSignal | undefined): Promise<readonly Entry[]>;
}

/** All entries of a folder; sorted once for an order that is asked for again and again. */
export interface ListedEntries {
  readonly count: number;
  /** What they take of memory, with the order that is asked for. */
  readonly bytes: number;
  names(): Promise<EntryName[]>;
  find(name: EntryName): Entry | undefined;
  isDirectory(name: EntryName): boolean;
  /** Those who ask at once share one sort, which is no matter of one of them. @param inTurn where it has to wait for others */
  inOrder(order: EntryOrder, inTurn: (sort: () => Promise<Folder>) => Promise<Folder>): Promise<Folder>;
  /** An entry came, or is another one than before; one that came is the last where the storage has an order of its own. Undefined: it went. */
  change(name: EntryName, entry: Entry | undefined): void;
}

/** Takes the entries as they come, with room for others: of a big folder, all of them at once would keep the thread. */
export async function readListedEntries(entries: AsyncIterable<Entry>): Promise<ListedEntries> {
  return listedEntries(await takeEntries(entries));
}

function listedEntries(byName: EntryMap): ListedEntries {
  const isDirectory = (name: EntryName) => byName.isDirectory(name);
  let last: { order: string; folder: Promise<Folder> } | undefined;
  const sorted = async (order: EntryOrder): Promise<Folder> => {
    const pace = createPace();
    return {
      // With the next change it is another folder.
      whole: {},
      names: (await sortEntries(order, await byName.heads(pace), pace)).map(({ name }) => name),
      isDirectory,
      entries: (names, signal) => entriesOf(byName, names, signal),
    };
  };
  return {
    get count() {
      return byName.size;
    },
    get bytes() {
      // An order of the names is asked for right after they came.
      return byName.bytes + byName.listBytes;
    },
    names: () => byName.names(createPace()),
    find: (name) => byName.get(name),
    isDirectory,
    inOrder(order, inTurn) {
      const key = orderKey(order);
      if (last?.order !== key) last = { order: key, folder: inTurn(() => sorted(order)) };
      return last.folder;
    },
    change(name, entry) {
      last = undefined;
      // Both names are the ends of paths, which they would keep.
      if (entry) byName.set({ ...entry, name: ownText(entry.name) as EntryName });
      else byName.delete(ownText(name) as EntryName);
    },
  };
}

/** Of a big folder, all of them in one turn would keep the thread. */
async function entriesOf(byName: EntryMap, names: readonly EntryName[], signal: AbortSignal | undefined): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  const pace = createPace(signal);
  for (const name of names) {
    const entry = byName.get(name);
    if (entry) entries.push(entry);
    await pace.step();
  }
  return entries;
}

export function orderKey(order: EntryOrder): string {
  return `${order.by} ${order.isDescending} ${order.folders}`;
}
