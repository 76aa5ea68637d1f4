import { AppError } from '@wharf/errors';
import { createPace, WHOLE } from '@wharf/pace';
import { VIRTUAL_ROOT } from '@wharf/paths';
import type { ListDirectoriesRequest, ListDirectoriesResponse } from '@wharf/proto/fs';
import { isAdmin } from '@wharf/rights';
import type { Call } from '@wharf/service-kit';
import { beginReading, type FsContext } from '../context.ts';
import { listEntries } from '../domain/reading/list-entries.ts';
import { resolvePath } from '../domain/snapshot/snapshot.ts';
import { toWireTime } from './wire-entry.ts';

/** fs/dirs. With force_root an admin names a path of the whole tree. */
export const listDirectoriesHandler =
  (context: FsContext) =>
  async (request: ListDirectoriesRequest, call: Call): Promise<ListDirectoriesResponse> => {
    const { snapshot, actor, signal } = await beginReading(context, call);
    if (request.force_root && !isAdmin(actor)) throw new AppError('PERMISSION_DENIED', 'Permission denied');
    const path = resolvePath(request.force_root ? { ...actor, basePath: VIRTUAL_ROOT } : actor, request.path);
    snapshot.rules.requireAccess(actor, path, request.password);
    const { entries } = await listEntries(snapshot, context.folderCache, actor, path, {
      slice: WHOLE,
      refresh: false,
      onlyFolders: true,
      signal,
    });
    const pace = createPace(signal);
    const directories: { name: string; modified: string }[] = [];
    for (const entry of entries) {
      directories.push({ name: entry.name, modified: toWireTime(entry.modifiedAt) });
      await pace.step();
    }
    return { directories };
  };
