import { parentPath } from '@wharf/paths';
import type { GetEntryRequest, GetEntryResponse } from '@wharf/proto/fs';
import { type Call, shareKeyOf } from '@wharf/service-kit';
import { type FsContext, linkOptionsOf, readByRulesOfNow } from '../context.ts';
import type { EnterRoom } from '../domain/reading/entry-room.ts';
import { etagOf } from '../domain/reading/etag.ts';
import { getEntry, getWithRelated } from '../domain/reading/get-entry.ts';
import { rawUrl } from '../domain/reading/links.ts';
import { resolvePath } from '../domain/snapshot/snapshot.ts';
import { toWireEntry } from './wire-entry.ts';

/** fs/get. */
export const getEntryHandler =
  (context: FsContext, enter: EnterRoom) =>
  async (request: GetEntryRequest, call: Call): Promise<GetEntryResponse> => {
    const read = await readByRulesOfNow(context, call, async ({ snapshot, actor, signal }) => {
      const path = resolvePath(actor, request.path);
      snapshot.rules.requireAccess(actor, path, request.password);
      const room = enter(shareKeyOf(call));
      const kept = await getWithRelated(snapshot, context.folderCache, actor, path, request.password, signal, room).finally(room.leave);
      // Whoever decides by it what to replace asks for what is there now.
      const found = request.refresh ? { ...kept, ...(await getEntry(snapshot, path, { signal, caller: shareKeyOf(call) })) } : kept;
      const { entry, located } = found;
      const isFile = !entry.isDirectory && located !== undefined;
      const raw_url = isFile ? await rawUrl(snapshot, context.links, located, path, entry.name, request.site_url, linkOptionsOf(call)) : '';
      return { ...found, snapshot, actor, path, raw_url };
    });
    const { snapshot, actor, path, entry, located, related, raw_url } = read;
    const directory = parentPath(path);
    const isFile = !entry.isDirectory && located !== undefined;
    const caller = { actor, password: request.password, siteUrl: request.site_url };
    return {
      ...toWireEntry(snapshot, caller, located?.mount, directory, entry),
      raw_url,
      readme: snapshot.rules.readme(path),
      header: snapshot.rules.header(path),
      etag: (request.refresh && isFile && etagOf(entry)) || '',
      provider: located?.mount.definition.name ?? 'unknown',
      related: related.map((each) => toWireEntry(snapshot, caller, located?.mount, directory, each)),
    };
  };
