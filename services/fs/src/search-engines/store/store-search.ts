import { AppError } from '@wharf/errors';
import type { IndexEntryRecord, IndexFolderRecord, Models } from '@wharf/models';
import { createPace } from '@wharf/pace';
import { type EntryName, pathWeight, type VirtualPath } from '@wharf/paths';
import { createHitCollector } from '../../domain/search/hit-collector.ts';
import { containsAll, gramsOfWords } from '../../domain/search/keywords.ts';
import type { SearchAnswer, SearchIndex, SearchQuery } from '../../domain/search/search-index.ts';
import { createRuleBooks, createVisibility, type EntryFilter } from '../../domain/search/visibility.ts';

/** More grams narrow the candidates little and cost the store a look each. */
const MAX_GRAMS = 8;
/** Candidates that are looked at before others have their turn. */
const BATCH = 1_000;
/** Folders of one search whose visibility is remembered, fewer where their paths are long. */
const MAX_FOLDERS = 20_000;
const FIELDS = { folder: 1, name: 1, is_dir: 1, size: 1 } as const;

type Candidate = Pick<IndexEntryRecord, 'folder' | 'name' | 'is_dir' | 'size'>;
type Shown = { readonly path: VirtualPath; readonly isShown: EntryFilter } | undefined;

/** Searching in the store: it finds candidates by their grams, everything else is decided here. */
export function createStoreSearch({ indexEntries, indexFolders }: Models): SearchIndex['search'] {
  const booksOf = createRuleBooks();
  return async (query: SearchQuery, signal?: AbortSignal): Promise<SearchAnswer> => {
    throwIfAborted(signal);
    const collector = createHitCollector(query);
    const visibility = createVisibility(query, await booksOf(query.viewer));
    const folders = new Map<string, Shown>();
    let weight = 0;
    const learn = async (batch: readonly Candidate[]) => {
      if (weight > MAX_FOLDERS) {
        folders.clear();
        weight = 0;
      }
      const unknown = [...new Set(batch.map(({ folder }) => folder))].filter((id) => !folders.has(id));
      if (unknown.length === 0) return;
      for (const id of unknown) folders.set(id, undefined);
      weight += unknown.length;
      const found = await indexFolders.find({ _id: { $in: unknown } }, { path: 1 }).lean<Array<Pick<IndexFolderRecord, '_id' | 'path'>>>();
      for (const { _id, path } of found) {
        const isShown = visibility(path as VirtualPath);
        weight += pathWeight(path);
        if (isShown) folders.set(_id, { path: path as VirtualPath, isShown });
      }
    };
    const look = async (batch: readonly Candidate[]) => {
      const matching = batch.filter(({ name }) => containsAll(name, query.words));
      await learn(matching);
      for (const { folder, name, is_dir, size } of matching) {
        const shown = folders.get(folder);
        if (shown?.isShown(name, is_dir))
          collector.add({ parent: shown.path, name: name as EntryName, isDirectory: is_dir, sizeBytes: size });
      }
    };
    const cursor = indexEntries.find(filterOf(query), FIELDS).lean<Candidate[]>().batchSize(BATCH).cursor();
    let batch: Candidate[] = [];
    try {
      for (;;) {
        throwIfAborted(signal);
        const candidate = (await cursor.next()) as Candidate | null;
        if (candidate) batch.push(candidate);
        if (!candidate || batch.length === BATCH) {
          await look(batch);
          batch = [];
        }
        if (!candidate) return await collector.answerInTurns(createPace(signal));
      }
    } finally {
      await cursor.close();
    }
  };
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw AppError.is(signal.reason) ? signal.reason : new AppError('CANCELLED', 'the caller went away');
}

function filterOf({ words, scope }: SearchQuery) {
  const grams = gramsOfWords(words, MAX_GRAMS);
  const longest = words[0] ?? '';
  return {
    ...(scope === 'all' ? {} : { is_dir: scope === 'folders' }),
    ...(grams.length > 0 ? { grams: { $all: grams } } : longest === '' ? {} : { name: { $regex: patternOf(longest) } }),
  };
}

/** A pattern for one or two characters, without anything that could take long. */
function patternOf(word: string): string {
  return Array.from(word)
    .map((character) =>
      /[a-z]/.test(character) ? `[${character}${character.toUpperCase()}]` : character.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'),
    )
    .join('');
}
