import { createPace } from '@wharf/pace';
import type { DeepPartial, SearchEntriesRequest, SearchEntriesResponse } from '@wharf/proto/fs';
import { type Call, shareKeyOf } from '@wharf/service-kit';
import { type FsContext, readByRulesOfNow } from '../context.ts';
import type { EnterRoom, RoomOfListing } from '../domain/reading/entry-room.ts';
import type { IndexKeeper } from '../domain/search/index-keeper.ts';
import { hitsOf, searchEntries, searchFolder } from '../domain/search/search-entries.ts';
import type { SearchHit } from '../domain/search/search-index.ts';
import { ENTRY_TYPE, typeOfName } from '../domain/snapshot/entry-type.ts';
import type { Snapshot } from '../domain/snapshot/snapshot.ts';
import { createLane } from '../driver-contract/lane.ts';
import { chunksOf } from './page-writer.ts';

/** Searches of the index at a time: others wait, and each caller has a share, so that who asks for many holds up nobody else. */
const SEARCHES = { size: 8, share: 2 } as const;
/** Hits in one message of the stream: with the longest paths it has some 2 MiB. */
const CHUNK_HITS = 500;

/** fs/search. With in_folder the one folder is searched by its listing, whether there is an index or not. */
export function searchEntriesHandler(context: FsContext, keeper: IndexKeeper, enter: EnterRoom) {
  const searches = createLane(SEARCHES);
  const answer = async function* (
    { in_folder, per_page, ...request }: SearchEntriesRequest,
    call: Call,
    room: RoomOfListing,
  ): AsyncGenerator<DeepPartial<SearchEntriesResponse>> {
    const wanted = { ...request, perPage: per_page };
    // What is kept until the last hit has come is the page and all before it.
    if (!in_folder) room.take(hitsOf(wanted));
    const { snapshot, hits, total } = await readByRulesOfNow(context, call, async ({ snapshot, actor, signal }) => {
      const answer = in_folder
        ? await searchFolder(snapshot, context.folderCache, actor, wanted, signal, room)
        : await searchEntries(snapshot, await keeper.index(snapshot), actor, wanted, signal);
      return { snapshot, ...answer };
    });
    const pace = createPace(call.signal);
    let head: { total?: number } = { total };
    for (const chunk of chunksOf(hits, CHUNK_HITS)) {
      yield { ...head, content: chunk.map((hit) => toWireHit(hit, snapshot)) };
      head = {};
      await pace.step();
    }
  };
  return async function* (request: SearchEntriesRequest, call: Call): AsyncGenerator<DeepPartial<SearchEntriesResponse>> {
    const room = enter(shareKeyOf(call));
    const leave = request.in_folder ? () => {} : await searches.enter({ signal: call.signal, caller: shareKeyOf(call) });
    try {
      yield* answer(request, call, room);
    } finally {
      room.leave();
      leave();
    }
  };
}

function toWireHit({ parent, name, isDirectory, sizeBytes }: SearchHit, { settings }: Snapshot) {
  const type = isDirectory ? ENTRY_TYPE.folder : typeOfName(name, settings);
  return { parent, name, is_dir: isDirectory, size: sizeBytes, type };
}
