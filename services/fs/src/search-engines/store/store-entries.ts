import type { IndexEntryRecord, Models } from '@wharf/models';
import { baseName, childPath, type EntryName, isWithin, parentPath, type VirtualPath } from '@wharf/paths';
import { CHILDREN, depthBelow, depthMoved, type IndexedEntry, type SearchIndex } from '../../domain/search/search-index.ts';
import { batches, entryBatches, idOf, ignoreDuplicates, recordOf, subtree, within } from './index-records.ts';
import type { Folder, StoreFolders } from './store-folders.ts';

/** The entries of the index, which refer to their folder by its id. */
export function createStoreEntries(
  { indexFolders: folders, indexEntries: entries }: Models,
  { folderAt, folderOf, addFolders, foldersBelow, dropEntries, dropTrees }: StoreFolders,
): Pick<SearchIndex, 'children' | 'put' | 'remove' | 'move'> {
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
    async move(from, to) {
      const [oldName, newName] = [baseName(from), baseName(to)];
      const [oldParent, newParent, moved] = await Promise.all([folderAt(parentPath(from)), folderAt(parentPath(to)), folderAt(from)]);
      if (oldName === undefined || newName === undefined || !oldParent || !newParent || !moved || isWithin(from, to)) return false;
      const before = await entries.findById(idOf(oldParent._id, oldName)).lean<IndexEntryRecord>();
      if (!before?.is_dir || (await entries.findById(idOf(newParent._id, newName)).lean())) return false;
      if (await folders.exists({ $or: subtree(to) })) return dropHalves(dropTrees, from, to);
      const depthOf = await depthsMoved(moved, newParent, foldersBelow(from));
      if (!depthOf) return false;
      // The topmost folder is moved last. After a crash, the folders that were not moved are found below it at the old place, and are
      // removed with it. Each of the others is moved after all that it holds: a folder that is at the new place is not read again.
      const placed = ({ _id, path, depth }: Folder) => ({
        updateOne: { filter: { _id }, update: { $set: { path: to + path.slice(from.length), depth: depthOf(depth) } } },
      });
      const takeAlong = async () => {
        for await (const inside of foldersBelow(from)) await ignoreDuplicates(folders.bulkWrite(inside.map(placed), { ordered: false }));
      };
      await takeAlong();
      await folders.bulkWrite([placed(moved)]);
      // What was put into folders that had been taken along already.
      await takeAlong();
      // After the folder, which nobody lists that is there as an entry alone.
      const { _id, ...after } = recordOf(newParent._id, { name: newName, isDirectory: true, sizeBytes: before.size });
      await entries.updateOne({ _id }, { $set: after }, { upsert: true });
      if ((await entries.deleteOne({ _id: before._id })).deletedCount === 1) return true;
      // It was removed meanwhile, and what was below it in part.
      await entries.deleteOne({ _id });
      await dropTrees([to]);
      return false;
    },
  };
}

/** What a move that did not end has left at its new place goes, after the rest at the old one: by itself that would be taken for whole. */
async function dropHalves(dropTrees: StoreFolders['dropTrees'], from: VirtualPath, to: VirtualPath): Promise<false> {
  for (const place of [from, to]) await dropTrees([place]);
  return false;
}

/** The depth at the new place of a folder that is moved; undefined where one of them is to be listed there. */
async function depthsMoved(
  moved: Folder,
  parent: Folder,
  below: AsyncIterable<readonly Folder[]>,
): Promise<((depth: number) => number) | undefined> {
  const depthOf = (depth: number) => depthMoved(depth, moved.depth, depthBelow(parent.depth));
  if (depthOf(moved.depth) === undefined) return undefined;
  // Where no depth differs none needs a look.
  if (depthOf(1) !== 1) for await (const folders of below) if (folders.some(({ depth }) => depthOf(depth) === undefined)) return undefined;
  return (depth) => depthOf(depth) ?? depth;
}
