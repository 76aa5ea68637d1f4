import type { IndexEntryRecord, Models } from '@wharf/models';
import { childPath, type EntryName, type VirtualPath } from '@wharf/paths';
import { CHILDREN, depthBelow, type IndexedEntry, type SearchIndex } from '../../domain/search/search-index.ts';
import { batches, entryBatches, idOf, ignoreDuplicates, recordOf, within } from './index-records.ts';
import { moveFolder } from './move-folder.ts';
import type { Folder, StoreFolders } from './store-folders.ts';

/** The entries of the index, which refer to their folder by its id. */
export function createStoreEntries(models: Models, table: StoreFolders): Pick<SearchIndex, 'children' | 'put' | 'remove' | 'move'> {
  const { indexEntries: entries } = models;
  const { folderAt, folderOf, addFolders, dropEntries, dropTrees } = table;
  /** Puts the folders among some entries where their folder is: it may be moved meanwhile. @returns the folder as it is then; undefined when it is gone */
  const putFolders = async (known: Folder, batch: readonly IndexedEntry[], generation: number): Promise<Folder | undefined> => {
    const inner = batch.filter(({ isDirectory }) => isDirectory);
    for (let folder = known; ; ) {
      const directory = folder.path as VirtualPath;
      await addFolders(
        inner.map(({ name, isLink }) => {
          const depth = isLink ? 0 : depthBelow(folder.depth);
          return { path: childPath(directory, name), depth, queued: depth === 0 ? null : generation };
        }),
      );
      const now = await folderOf(folder._id);
      if (now?.path === directory) return now;
      if (!(await folderAt(directory))) await dropTrees(inner.map(({ name }) => childPath(directory, name)));
      if (!now) return undefined;
      folder = now;
    }
  };
  const putBatch = async (found: Folder, batch: readonly IndexedEntry[], generation: number): Promise<Folder | undefined> => {
    // Before the entries: a folder that the index has as an entry alone is never listed.
    const folder = await putFolders(found, batch, generation);
    if (!folder) return undefined;
    const wanted = batch.map((entry) => recordOf(folder._id, entry));
    const known = await entries
      .find({ _id: { $in: wanted.map(({ _id }) => _id) } }, { is_dir: 1, size: 1 })
      .lean<Array<Pick<IndexEntryRecord, '_id' | 'is_dir' | 'size'>>>();
    const knownById = new Map(known.map((entry) => [entry._id, entry]));
    const added = wanted.filter(({ _id }) => !knownById.has(_id));
    // A duplicate may be ignored: the id is the folder and the name, so another writer has put the same entry.
    for (const some of entryBatches(added)) await ignoreDuplicates(entries.insertMany(some, { ordered: false, lean: true }));
    const changed = wanted.filter((entry) => {
      const before = knownById.get(entry._id);
      return before && (before.is_dir !== entry.is_dir || before.size !== entry.size);
    });
    if (changed.length > 0)
      await entries.bulkWrite(
        changed.map(({ _id, is_dir, size }) => ({ updateOne: { filter: { _id }, update: { $set: { is_dir, size } } } })),
        { ordered: false },
      );
    const noFolders = batch.filter(({ name, isDirectory }) => !isDirectory && knownById.get(idOf(folder._id, name))?.is_dir);
    await dropTrees(noFolders.map(({ name }) => childPath(folder.path as VirtualPath, name)));
    return folder;
  };
  return {
    async children(directory, after) {
      const folder = await folderAt(directory);
      if (!folder) return new Map();
      const range = within(folder._id);
      const rest = after === undefined ? range : { $gt: idOf(folder._id, after), $lt: range.$lt };
      const found = await entries.find({ _id: rest }, { name: 1, is_dir: 1 }).sort({ _id: 1 }).limit(CHILDREN).lean<IndexEntryRecord[]>();
      return new Map(found.map(({ name, is_dir }) => [name as EntryName, is_dir]));
    },
    async put(directory, wanted, generation) {
      let folder = await folderAt(directory);
      for (const batch of batches(wanted)) folder = folder && (await putBatch(folder, batch, generation));
    },
    async remove(directory, names) {
      const folder = await folderAt(directory);
      for (const batch of batches(names)) {
        await dropTrees(batch.map((name) => childPath(directory, name)));
        // Last: by them, what a crash has left is found, and removed.
        if (folder) await dropEntries(batch.map((name) => ({ _id: idOf(folder._id, name) })));
      }
    },
    move: (from, to) => moveFolder(models, table, from, to),
  };
}
