import { AppError } from '@wharf/errors';
import { createPace, WHOLE } from '@wharf/pace';
import type { VirtualPath } from '@wharf/paths';
import type { Actor } from '../access/permissions.ts';
import type { RoomOfListing } from '../reading/entry-room.ts';
import type { FolderCache } from '../reading/folder-cache.ts';
import { listEntries } from '../reading/list-entries.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { resolvePath } from '../snapshot/snapshot.ts';
import { createHitCollector } from './hit-collector.ts';
import { containsAll, parseKeywords } from './keywords.ts';
import type { SearchAnswer, SearchIndex, SearchScope } from './search-index.ts';

export interface SearchRequest {
  /** Relative to the caller's base path. */
  readonly parent: string;
  readonly keywords: string;
  /** 0 everything, 1 folders, anything else files. */
  readonly scope: number;
  readonly page: number;
  readonly perPage: number;
  readonly password: string;
}

/** Hits of one page at most, and hits up to the end of the last page that is answered. */
const MAX_PER_PAGE = 10_000;
const MAX_DEPTH = 200_000;
const NOTHING: SearchAnswer = { hits: [], total: 0 };

/** How many hits are kept until the page is known, at most. @throws AppError INVALID_ARGUMENT `page can't < 1` and the like */
export function hitsOf(request: Pick<SearchRequest, 'page' | 'perPage'>): number {
  const { page, perPage } = pageOf(request);
  return page * perPage;
}

/**
 * Names below a folder that contain every keyword, as far as the actor may see them.
 *
 * @throws AppError INVALID_ARGUMENT `page can't < 1` and the like; as resolvePath() and the index
 */
export async function searchEntries(
  { rules }: Snapshot,
  index: SearchIndex,
  actor: Actor,
  request: SearchRequest,
  signal: AbortSignal,
): Promise<SearchAnswer> {
  const page = pageOf(request);
  const parent = resolvePath(actor, request.parent);
  const words = parseKeywords(request.keywords);
  if (!words) return NOTHING;
  const viewer = { actor, password: request.password, rules: rules.records };
  return index.search({ words, scope: scopeOf(request.scope), parent, ...page, viewer }, signal);
}

/**
 * The same for the entries of one folder alone, from its listing: needs no index and is never out of date.
 *
 * @param room for what is listed; what it throws ends the search
 * @throws as searchEntries() and a listing do
 */
export async function searchFolder(
  snapshot: Snapshot,
  folderCache: FolderCache,
  actor: Actor,
  request: SearchRequest,
  signal: AbortSignal,
  room: RoomOfListing,
): Promise<SearchAnswer> {
  const page = pageOf(request);
  const parent: VirtualPath = resolvePath(actor, request.parent);
  snapshot.rules.requireAccess(actor, parent, request.password);
  const words = parseKeywords(request.keywords);
  if (!words) return NOTHING;
  const scope = scopeOf(request.scope);
  // The path of the folder is one text, however many hits have it.
  const collector = createHitCollector(page, Number.POSITIVE_INFINITY);
  const { entries } = await listEntries(snapshot, folderCache, actor, parent, { slice: WHOLE, refresh: false, signal, room });
  const pace = createPace(signal);
  for (const { name, isDirectory, sizeBytes } of entries) {
    if ((scope === 'all' || isDirectory === (scope === 'folders')) && containsAll(name, words))
      collector.add({ parent, name, isDirectory, sizeBytes: sizeBytes ?? 0 });
    await pace.step();
  }
  return collector.answerInTurns(pace);
}

function pageOf({ page, perPage }: Pick<SearchRequest, 'page' | 'perPage'>): { page: number; perPage: number } {
  if (page < 1) throw new AppError('INVALID_ARGUMENT', "page can't < 1");
  if (perPage < 1) throw new AppError('INVALID_ARGUMENT', "per_page can't < 1");
  const size = Math.min(perPage, MAX_PER_PAGE);
  if (page * size > MAX_DEPTH) throw new AppError('INVALID_ARGUMENT', `only the first ${MAX_DEPTH} hits have pages: use more keywords`);
  return { page, perPage: size };
}

function scopeOf(scope: number): SearchScope {
  return scope === 0 ? 'all' : scope === 1 ? 'folders' : 'files';
}
