import type { SearchEntriesRequest, SearchEntriesResponse } from '@wharf/proto/fs';
import type { Call } from '@wharf/service-kit';
import { beginReading, type FsContext } from '../context.ts';
import type { IndexKeeper } from '../domain/search/index-keeper.ts';
import { searchEntries, searchFolder } from '../domain/search/search-entries.ts';
import { ENTRY_TYPE, typeOfName } from '../domain/snapshot/entry-type.ts';

/** fs/search. With in_folder the one folder is searched by its listing, whether there is an index or not. */
export const searchEntriesHandler =
  (context: FsContext, keeper: IndexKeeper) =>
  async ({ in_folder, per_page, ...request }: SearchEntriesRequest, call: Call): Promise<SearchEntriesResponse> => {
    const { snapshot, actor, signal } = await beginReading(context, call);
    const wanted = { ...request, perPage: per_page };
    const { hits, total } = in_folder
      ? await searchFolder(snapshot, context.folderCache, actor, wanted, signal)
      : await searchEntries(snapshot, await keeper.index(snapshot), actor, wanted, signal);
    return {
      content: hits.map(({ parent, name, isDirectory, sizeBytes }) => ({
        parent,
        name,
        is_dir: isDirectory,
        size: sizeBytes,
        type: isDirectory ? ENTRY_TYPE.folder : typeOfName(name, snapshot.settings),
      })),
      total,
    };
  };
