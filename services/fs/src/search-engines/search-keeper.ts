import { modelsOf } from '@wharf/models';
import { createStoreRoom, type ServiceKit } from '@wharf/service-kit';
import type { Configuration } from '../configuration.ts';
import type { FolderCache } from '../domain/reading/folder-cache.ts';
import { createIndexKeeper, type IndexKeeper } from '../domain/search/index-keeper.ts';
import { openFileSearchIndex } from './file/file-search-index.ts';
import { createStoreSearchIndex } from './store/store-search-index.ts';

/**
 * The keeper of this process's search index.
 *
 * @param searchDir where the index is a file, for an fs that runs alone; undefined: the index is in the store, for all replicas.
 * @param replica the name of this process, which no other process has.
 */
export function createSearchKeeper(
  kit: ServiceKit,
  parts: { configuration: Configuration; folderCache: () => FolderCache; replica: string; searchDir: string | undefined },
): IndexKeeper {
  const { configuration, folderCache, replica, searchDir } = parts;
  const roomOfStore = createStoreRoom(kit.store, 1);
  return createIndexKeeper({
    snapshot: () => configuration.snapshot({ auth: 0, admin: 0 }),
    folderCache,
    async openIndex() {
      if (searchDir !== undefined) return openFileSearchIndex(searchDir);
      return createStoreSearchIndex(modelsOf(kit.store), Number.isFinite(await roomOfStore()));
    },
    owner: replica,
    clock: kit.clock,
    async report(progress) {
      await kit.peers.admin.reportIndexProgress(progress, kit.ownCall());
    },
    onError: (error) => kit.logger.warn({ err: error }, 'search index'),
  });
}
