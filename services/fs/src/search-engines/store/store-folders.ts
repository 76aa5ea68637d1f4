import { randomBytes } from 'node:crypto';
import type { IndexFolderRecord, Models } from '@wharf/models';
import type { VirtualPath } from '@wharf/paths';
import type { SearchIndex, Territory } from '../../domain/search/search-index.ts';
import { BATCH, batches, entryBatches, ignoreDuplicates, subtree, within } from './index-records.ts';

const ID_BYTES = 9;

export type Folder = Pick<IndexFolderRecord, '_id' | 'path' | 'depth'>;

/** The folders of the index, and which of them are still to be indexed. */
export interface StoreFolders {
  folderAt(path: VirtualPath): Promise<Folder | undefined>;
  /** The folder of this id, wherever it is now. */
  folderOf(id: string): Promise<Folder | undefined>;
  addFolders(wanted: ReadonlyArray<Omit<IndexFolderRecord, '_id'>>): Promise<void>;
  /**
   * The folders below one, some at a time: a command that goes through hundreds of thousands keeps all others waiting in the built-in store. What is in a folder comes
   * before it.
   */
  foldersBelow(path: VirtualPath): AsyncGenerator<readonly Folder[]>;
  dropEntries(wanted: ReadonlyArray<{ readonly _id: string }>): Promise<void>;
  /** Takes folders away with all that is below them. */
  dropTrees(paths: readonly VirtualPath[]): Promise<void>;
  readonly operations: Pick<SearchIndex, 'findFolder' | 'openFolder' | 'requeue' | 'queued' | 'settle' | 'settleAll'>;
}

export function createStoreFolders({ indexFolders: folders, indexEntries: entries }: Models): StoreFolders {
  const folderAt = async (path: VirtualPath): Promise<Folder | undefined> => (await folders.findOne({ path }).lean<Folder>()) ?? undefined;
  const folderOf = async (id: string): Promise<Folder | undefined> => (await folders.findById(id).lean<Folder>()) ?? undefined;
  const addFolders = async (wanted: ReadonlyArray<Omit<IndexFolderRecord, '_id'>>) => {
    for (const batch of batches(wanted))
      await ignoreDuplicates(
        folders.bulkWrite(
          batch.map(({ path, ...rest }) => ({
            updateOne: {
              filter: { path },
              update: { $setOnInsert: { _id: randomBytes(ID_BYTES).toString('base64url'), ...rest } },
              upsert: true,
            },
          })),
          { ordered: false },
        ),
      );
  };
  async function* foldersBelow(path: VirtualPath): AsyncGenerator<readonly Folder[]> {
    const { $gte: start, $lt: end } = within(path === '/' ? '' : path);
    for (let last = end; ; ) {
      const found = await folders
        .find({ path: { $gt: start, $lt: last } }, { path: 1, depth: 1 })
        .sort({ path: -1 })
        .limit(BATCH)
        .lean<Folder[]>();
      if (found.length > 0) yield found;
      if (found.length < BATCH) return;
      last = found.at(-1)?.path ?? start;
    }
  }
  /** Queues a folder and all below it, or takes them off the queue. */
  const queueTree = async (path: VirtualPath, queued: number | null, which: Readonly<Record<string, unknown>>): Promise<void> => {
    await folders.updateOne({ ...which, path }, { $set: { queued } });
    for await (const some of foldersBelow(path)) {
      const [first, last] = [some.at(-1), some[0]];
      if (first && last) await folders.updateMany({ ...which, path: { $gte: first.path, $lte: last.path } }, { $set: { queued } });
    }
  };
  const dropEntries = async (wanted: ReadonlyArray<{ readonly _id: string }>) => {
    for (const some of entryBatches(wanted)) await entries.deleteMany({ _id: { $in: some.map(({ _id }) => _id) } });
  };
  /** A folder may have any number of entries. */
  const emptyFolder = async (id: string) => {
    for (;;) {
      const found = await entries
        .find({ _id: within(id) }, { _id: 1 })
        .limit(BATCH)
        .lean<Array<{ _id: string }>>();
      await dropEntries(found);
      if (found.length < BATCH) return;
    }
  };
  const dropFolders = async (ids: readonly string[]) => {
    for (const some of batches(ids, 20)) await Promise.all(some.map(emptyFolder));
    await folders.deleteMany({ _id: { $in: [...ids] } });
  };
  const dropTrees = async (paths: readonly VirtualPath[]) => {
    for (const batch of batches(paths, 20))
      for (;;) {
        const found = await folders
          .find({ $or: batch.flatMap(subtree) }, { _id: 1 })
          .limit(BATCH)
          .lean<Folder[]>();
        if (found.length === 0) break;
        await dropFolders(found.map(({ _id }) => _id));
      }
  };
  return {
    folderAt,
    folderOf,
    addFolders,
    foldersBelow,
    dropEntries,
    dropTrees,
    operations: {
      async findFolder(path) {
        const folder = await folderAt(path);
        return folder && { path, depth: folder.depth };
      },
      async openFolder(path, depth, generation) {
        const queued = depth === 0 ? null : generation;
        await addFolders([{ path, depth, queued }]);
        await folders.updateOne({ path }, { $set: { depth, queued } });
      },
      async requeue(path, generation, isDeep) {
        const isIndexed = { depth: { $ne: 0 } };
        if (isDeep) await queueTree(path, generation, isIndexed);
        else await folders.updateOne({ path, ...isIndexed }, { $set: { queued: generation } });
      },
      async queued(generation, limit, except = []) {
        const wanted = { queued: generation, ...(except.length > 0 && { $nor: except.map(ownedBy) }) };
        const found = await folders.find(wanted, { path: 1, depth: 1 }).limit(limit).lean<Folder[]>();
        return found.map(({ path, depth }) => ({ path: path as VirtualPath, depth }));
      },
      async settle(paths) {
        for (const batch of batches(paths)) await folders.updateMany({ path: { $in: batch } }, { $set: { queued: null } });
      },
      async settleAll({ place, without }) {
        await queueTree(place, null, notBelow(without));
      },
    },
  };
}

function ownedBy({ place, without }: Territory) {
  return { $or: subtree(place), ...notBelow(without) };
}

function notBelow(places: readonly VirtualPath[]) {
  return places.length > 0 ? { $nor: places.flatMap(subtree) } : {};
}
