import { AppError } from '@wharf/errors';
import { createPace, sliceOf } from '@wharf/pace';
import type { DeepPartial, ListEntriesRequest, ListEntriesResponse } from '@wharf/proto/fs';
import { type Call, shareKeyOf } from '@wharf/service-kit';
import { type FsContext, readByRulesOfNow } from '../context.ts';
import type { EnterRoom, RoomOfListing } from '../domain/reading/entry-room.ts';
import { listEntries } from '../domain/reading/list-entries.ts';
import { resolvePath } from '../domain/snapshot/snapshot.ts';
import { CHUNK_ENTRIES, chunksOf, createPageWriter } from './page-writer.ts';
import { toWireEntry } from './wire-entry.ts';

/** fs/list. Refreshing needs the right to write there. */
export function listEntriesHandler(context: FsContext, enter: EnterRoom) {
  const pages = createPageWriter();
  const list = async function* (
    request: ListEntriesRequest,
    call: Call,
    room: RoomOfListing,
  ): AsyncGenerator<DeepPartial<ListEntriesResponse>> {
    const read = await readByRulesOfNow(context, call, async ({ snapshot, actor, signal }, isAgain) => {
      const path = resolvePath(actor, request.path);
      snapshot.rules.requireAccess(actor, path, request.password);
      const write = snapshot.rules.canCreateIn(actor, path);
      if (request.refresh && !write) throw new AppError('PERMISSION_DENIED', 'Refresh without permission');
      const caller = { actor, password: request.password, siteUrl: request.site_url };
      let texts: readonly Uint8Array[] | undefined;
      const listed = await listEntries(snapshot, context.folderCache, actor, path, {
        slice: sliceOf(request.page, request.per_page),
        refresh: request.refresh && !isAgain,
        signal,
        room,
        has(all, mount) {
          if (request.as_json) texts = pages.find(all, { snapshot, caller, mount, directory: path });
          return texts !== undefined;
        },
      });
      return { ...listed, snapshot, path, write, caller, texts };
    });
    const { snapshot, path, write, caller, texts, entries, whole, total, located } = read;
    const listing = {
      total,
      readme: snapshot.rules.readme(path),
      header: snapshot.rules.header(path),
      write,
      write_content_bypass: snapshot.rules.isWriteBypassed(path),
      provider: located?.mount.definition.name ?? 'unknown',
    };
    const mount = located?.mount;
    const pace = createPace(call.signal);
    // In the first message only.
    let head: { listing?: typeof listing } = { listing };
    if (request.as_json) {
      for await (const entries_utf8 of texts ?? pages.write(entries, { snapshot, caller, mount, directory: path }, pace, whole)) {
        yield { ...head, entries_utf8 };
        head = {};
      }
      return;
    }
    for (const chunk of chunksOf(entries, CHUNK_ENTRIES)) {
      yield { ...head, entries: chunk.map((entry) => toWireEntry(snapshot, caller, mount, path, entry)) };
      head = {};
      await pace.step();
    }
  };
  return async function* (request: ListEntriesRequest, call: Call): AsyncGenerator<DeepPartial<ListEntriesResponse>> {
    const room = enter(shareKeyOf(call));
    try {
      yield* list(request, call, room);
    } finally {
      room.leave();
    }
  };
}
