import { AppError } from '@wharf/errors';
import { dropFormerIndexes, type Models, makeIndexes } from '@wharf/models';
import type { SearchIndex } from '../../domain/search/search-index.ts';
import { BATCH } from './index-records.ts';
import { createStoreEntries } from './store-entries.ts';
import { createStoreFolders } from './store-folders.ts';
import { createStoreSearch } from './store-search.ts';
import { createStoreState } from './store-state.ts';

/**
 * The index that all replicas share, in the store. Entries refer to their folder by its id, so that a folder moves without them. No change
 * needs a transaction: an entry whose folder is gone is not found, and every change may be done again.
 *
 * Entries have an index over their grams, and it is not there while an emptied index fills: made of what is there it costs a tenth of what
 * it costs entry by entry. Folders need none: the ids of their entries begin with theirs. The built-in store answers nobody else while it makes one, so
 * there it is made before there is anything.
 *
 * @param isBuiltIn whether this is the built-in store
 */
export async function createStoreSearchIndex(models: Models, isBuiltIn = false): Promise<SearchIndex> {
  const { indexFolders: folders, indexEntries: entries } = models;
  await Promise.all([makeIndexes(folders), dropFormerIndexes(entries)]);
  const beginGrams = async () => {
    if (isBuiltIn) await entries.createIndexes();
  };
  await beginGrams();
  const search = createStoreSearch(models);
  const folderTable = createStoreFolders(models);

  return guarded({
    search,
    // An estimate of the store may be minutes old.
    count: () => entries.countDocuments(),
    ...folderTable.operations,
    ...createStoreEntries(models, folderTable),
    async clear() {
      await entries.collection.dropIndexes();
      await Promise.all([removeAll(entries), removeAll(folders)]);
      await beginGrams();
    },
    makeFast: () => entries.createIndexes(),
    ...createStoreState(models),
    close: async () => {},
  });
}

/** Some at a time, as everything that concerns many: the built-in store answers nobody else while it runs a command. */
async function removeAll(model: Models['indexEntries'] | Models['indexFolders']): Promise<void> {
  for (;;) {
    const found = await (model as Models['indexFolders']).find({}, { _id: 1 }).sort({ _id: 1 }).limit(BATCH).lean<{ _id: string }[]>();
    const last = found.at(-1);
    if (!last) return;
    await (model as Models['indexFolders']).deleteMany({ _id: { $lte: last._id } });
  }
}

/** The index with the errors of the store in our words. */
function guarded(index: SearchIndex): SearchIndex {
  const guard =
    <Values extends readonly unknown[], Result>(call: (...values: Values) => Promise<Result>) =>
    async (...values: Values): Promise<Result> => {
      try {
        return await call(...values);
      } catch (error) {
        if (AppError.is(error)) throw error;
        throw new AppError('STORAGE_UNAVAILABLE', 'the search index is not available', { cause: error });
      }
    };
  return {
    search: guard(index.search),
    count: guard(index.count),
    findFolder: guard(index.findFolder),
    children: guard(index.children),
    put: guard(index.put),
    remove: guard(index.remove),
    move: guard(index.move),
    clear: guard(index.clear),
    makeFast: guard(index.makeFast),
    openFolder: guard(index.openFolder),
    requeue: guard(index.requeue),
    queued: guard(index.queued),
    settle: guard(index.settle),
    settleAll: guard(index.settleAll),
    readState: guard(index.readState),
    replaceState: guard(index.replaceState),
    claim: guard(index.claim),
    release: guard(index.release),
    close: index.close,
  };
}
