import { Catalog } from './catalog.ts';
import { type Migration, StoreFile } from './store-file.ts';

/** README, "Layout on disk": what became of each layout. */
const MIGRATIONS: readonly Migration[] = [rebuildKeys];

/** The store's file in a directory, of the layout of today. @throws AppError as {@link StoreFile.open} */
export const openStoreFile = (directory: string): StoreFile => StoreFile.open(directory, MIGRATIONS);

/** Writes all keys as they are encoded today: those of the documents by their ids, and the entries of each index. */
function rebuildKeys(file: StoreFile): void {
  for (const collection of new Catalog(file, Number.POSITIVE_INFINITY).all()) {
    collection.rebuildIdKeys();
    for (const index of collection.indexes) {
      index.clear();
      collection.buildIndex(index);
    }
  }
}
