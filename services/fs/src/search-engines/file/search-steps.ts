import { pathWeight, type VirtualPath } from '@wharf/paths';
import type { RuleBook } from '../../domain/access/rule-book.ts';
import { createHitCollector } from '../../domain/search/hit-collector.ts';
import { containsAll, gramsOfWords } from '../../domain/search/keywords.ts';
import type { SearchAnswer, SearchQuery } from '../../domain/search/search-index.ts';
import { createVisibility, type EntryFilter } from '../../domain/search/visibility.ts';
import type { Steps } from './index-tables.ts';
import { nameAt, numberAt, pathAt, type Row } from './row.ts';
import type { Rows, Statements } from './statements.ts';

/** More grams narrow the candidates no further. */
const MAX_GRAMS = 24;
/** How long a search works before others have their turn, in milliseconds. */
const STEP_MS = 8;
/** Rows between two looks at the clock. */
const ROWS_PER_LOOK = 128;
/** Rows that one statement of a scan passes over: it cannot be stopped in between. */
const SCAN_ROWS = 2_000;
/** Folders of one search whose visibility is remembered, fewer where their paths are long. */
const MAX_FOLDERS = 20_000;

const COLUMNS = 'e.folder, e.name, e.is_directory, e.size_bytes, e.id';
const IN_SCOPE = { all: '', folders: 'AND e.is_directory = 1', files: 'AND e.is_directory = 0' } as const;

/** One search on the reading connection. Dropping the generator ends it. */
export function* searchSteps(sql: Statements, query: SearchQuery, rules: RuleBook): Steps<SearchAnswer> {
  const { words } = query;
  const collector = createHitCollector(query);
  const visibility = createVisibility(query, rules);
  const folders = new Map<number, { path: VirtualPath; isShown: EntryFilter } | undefined>();
  let weight = 0;
  const folderOf = (id: number) => {
    if (folders.has(id)) return folders.get(id);
    const row = sql.first('SELECT path FROM folders WHERE id = ?', id);
    const path = row && pathAt(row, 0);
    const isShown = path === undefined ? undefined : visibility(path);
    const folder = path === undefined || isShown === undefined ? undefined : { path, isShown };
    if (weight >= MAX_FOLDERS) {
      folders.clear();
      weight = 0;
    }
    folders.set(id, folder);
    weight += pathWeight(folder?.path ?? '');
    return folder;
  };

  let resumedAt = performance.now();
  let rows = 0;
  for (const candidates of candidatesOf(sql, query)) {
    for (const row of candidates) {
      rows += 1;
      if (rows % ROWS_PER_LOOK === 0 && performance.now() - resumedAt > STEP_MS) {
        yield;
        resumedAt = performance.now();
      }
      const name = nameAt(row, 1);
      if (!containsAll(name, words)) continue;
      const folder = folderOf(numberAt(row, 0));
      const isDirectory = numberAt(row, 2) === 1;
      if (folder?.isShown(name, isDirectory)) collector.add({ parent: folder.path, name, isDirectory, sizeBytes: numberAt(row, 3) });
    }
    if (performance.now() - resumedAt > STEP_MS) {
      yield;
      resumedAt = performance.now();
    }
  }
  return collector.answer();
}

/** Rows that may match, in portions. */
function* candidatesOf(sql: Statements, { words, scope }: Pick<SearchQuery, 'words' | 'scope'>): Generator<Iterable<Row>> {
  const grams = gramsOfWords(words, MAX_GRAMS);
  if (grams.length > 0) {
    const match = grams.map((gram) => `"${gram.replaceAll('"', '""')}"`).join(' AND ');
    const find = `SELECT ${COLUMNS} FROM grams g CROSS JOIN entries e ON e.id = g.rowid
      WHERE grams MATCH ? AND g.rowid > ? ${IN_SCOPE[scope]} ORDER BY g.rowid`;
    let rows: Rows | undefined;
    for (let after = 0; !rows || rows.wasCut(); ) {
      // As a whole number: from another one the grams would be gone through from the beginning.
      rows = sql.each(find, match, BigInt(after));
      yield through(rows, (row) => {
        after = numberAt(row, 4);
      });
    }
    return;
  }
  // Words of one or two characters have no grams: every name is looked at.
  const longest = words[0] ?? '';
  const pattern = `%${longest.replace(/[%_\\]/g, '\\$&')}%`;
  const last = numberAt(sql.first('SELECT max(id) FROM entries') ?? [0], 0);
  const find = `SELECT ${COLUMNS} FROM entries e WHERE e.id >= ? AND e.id < ? ${IN_SCOPE[scope]} AND e.name LIKE ? ESCAPE '\\'`;
  for (let from = 0; from <= last; from += SCAN_ROWS) yield sql.all(find, from, from + SCAN_ROWS, pattern);
}

function* through(rows: Iterable<Row>, pass: (row: Row) => void): Generator<Row> {
  for (const row of rows) {
    pass(row);
    yield row;
  }
}
