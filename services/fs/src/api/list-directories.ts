import { AppError } from '@wharf/errors';
import { createPace, WHOLE } from '@wharf/pace';
import { VIRTUAL_ROOT } from '@wharf/paths';
import type { DeepPartial, ListDirectoriesRequest, ListDirectoriesResponse } from '@wharf/proto/fs';
import { isAdmin } from '@wharf/rights';
import { type Call, shareKeyOf } from '@wharf/service-kit';
import { type FsContext, readByRulesOfNow } from '../context.ts';
import type { EnterRoom } from '../domain/reading/entry-room.ts';
import { listEntries } from '../domain/reading/list-entries.ts';
import { resolvePath } from '../domain/snapshot/snapshot.ts';
import { CHUNK_ENTRIES, chunksOf } from './page-writer.ts';
import { toWireTime } from './wire-entry.ts';

/** fs/dirs. With force_root an admin names a path of the whole tree. */
export const listDirectoriesHandler = (context: FsContext, enter: EnterRoom) =>
  async function* (request: ListDirectoriesRequest, call: Call): AsyncGenerator<DeepPartial<ListDirectoriesResponse>> {
    const room = enter(shareKeyOf(call));
    try {
      const { entries } = await readByRulesOfNow(context, call, async ({ snapshot, actor, signal }) => {
        if (request.force_root && !isAdmin(actor)) throw new AppError('PERMISSION_DENIED', 'Permission denied');
        const path = resolvePath(request.force_root ? { ...actor, basePath: VIRTUAL_ROOT } : actor, request.path);
        snapshot.rules.requireAccess(actor, path, request.password);
        const options = { slice: WHOLE, refresh: false, onlyFolders: true, signal, room };
        return listEntries(snapshot, context.folderCache, actor, path, options);
      });
      const pace = createPace(call.signal);
      for (const chunk of chunksOf(entries, CHUNK_ENTRIES)) {
        yield { directories: chunk.map(({ name, modifiedAt }) => ({ name, modified: toWireTime(modifiedAt) })) };
        await pace.step();
      }
    } finally {
      room.leave();
    }
  };
