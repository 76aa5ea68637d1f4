import type { IndexEntryRecord, Models } from '@wharf/models';
import { baseName, isWithin, parentPath, type VirtualPath } from '@wharf/paths';
import { depthBelow, depthMoved } from '../../domain/search/search-index.ts';
import { idOf, ignoreDuplicates, recordOf, subtree } from './index-records.ts';
import type { Folder, StoreFolders } from './store-folders.ts';

/** `move` of the index: a folder with all below it. Others may change the index meanwhile. */
export async function moveFolder(
  { indexFolders: folders, indexEntries: entries }: Models,
  { folderAt, foldersBelow, dropTrees }: StoreFolders,
  from: VirtualPath,
  to: VirtualPath,
): Promise<boolean> {
  const [oldName, newName] = [baseName(from), baseName(to)];
  const [oldParent, newParent, moved] = await Promise.all([folderAt(parentPath(from)), folderAt(parentPath(to)), folderAt(from)]);
  if (oldName === undefined || newName === undefined || !oldParent || !newParent || !moved || isWithin(from, to)) return false;
  const before = await entries.findById(idOf(oldParent._id, oldName)).lean<IndexEntryRecord>();
  if (!before?.is_dir || (await entries.findById(idOf(newParent._id, newName)).lean())) return false;
  if (await folders.exists({ $or: subtree(to) })) {
    // What a move that did not end has left there goes, after the rest at the old place: by itself that would be taken for whole.
    for (const place of [from, to]) await dropTrees([place]);
    return false;
  }
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
