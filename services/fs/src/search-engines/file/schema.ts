import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { FIRST_STATE, type IndexState } from '../../domain/search/search-index.ts';

/** "WHSI": tells our file from any other. */
const APPLICATION_ID = 0x57485349;
const VERSION = 1;

const TABLES = `
CREATE TABLE folders (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, depth INTEGER NOT NULL, queued INTEGER) STRICT;
CREATE INDEX folders_queued ON folders (queued) WHERE queued IS NOT NULL;
CREATE TABLE entries (
  id INTEGER PRIMARY KEY, folder INTEGER NOT NULL, name TEXT NOT NULL, is_directory INTEGER NOT NULL, size_bytes INTEGER NOT NULL,
  UNIQUE (folder, name)
) STRICT;
CREATE VIRTUAL TABLE grams USING fts5 (name, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
`;
const STATE = 'CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL, body TEXT NOT NULL) STRICT;';
const DROP = 'DROP TABLE IF EXISTS folders; DROP TABLE IF EXISTS entries; DROP TABLE IF EXISTS grams;';

/** Two connections to one file: searches see what is committed while changes go on. */
export interface IndexFile {
  readonly writer: DatabaseSync;
  readonly reader: DatabaseSync;
  close(): void;
}

/**
 * Opens the file, and makes it when it is missing. What it holds can be built again, so a file that is damaged or of another kind is replaced
 * by an empty one, and so is one of an older version.
 *
 * @throws Error for a file of a newer version, which stays as it is
 */
export function openIndexFile(path: string): IndexFile {
  try {
    return openUsable(path);
  } catch (error) {
    if (!isDamage(error)) throw error;
    replaceIndexFile(path);
    return openUsable(path);
  }
}

const DAMAGED = 'the file of the index was damaged or of another version, and is empty now: build the index again';

/** Puts an empty file in the place of one that is damaged, with a state that says so. @param state of that one: a build begins anew, once */
export function replaceIndexFile(path: string, state?: IndexState): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
  const file = openUsable(path);
  try {
    const job = state?.error === DAMAGED ? undefined : state?.job;
    const next: IndexState =
      state && job?.kind === 'build' ? { ...state, job: { ...job, isPrepared: false } } : { ...FIRST_STATE, isDone: true };
    const body = JSON.stringify({ ...next, error: DAMAGED });
    file.writer.prepare('INSERT INTO state (id, revision, body) VALUES (1, ?, ?)').run(next.revision, body);
  } finally {
    file.close();
  }
}

class ForeignFile extends Error {}

function openUsable(path: string): IndexFile {
  const writer = new DatabaseSync(path, { timeout: 5_000 });
  try {
    // Synced when the log is folded in, not with each commit: a power cut may cost the last changes, never the file.
    writer.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16384; PRAGMA mmap_size = 0;');
    const version = numberOf(writer, 'user_version');
    if (version === 0) {
      writer.exec(`BEGIN; ${TABLES} ${STATE} PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}; COMMIT;`);
    } else if (version > VERSION && numberOf(writer, 'application_id') === APPLICATION_ID) {
      throw new Error(
        `${path} is of version ${version}, written by a newer Wharf; start that one, or remove the file and build the index again`,
      );
    } else if (version !== VERSION || numberOf(writer, 'application_id') !== APPLICATION_ID)
      throw new ForeignFile('the file is no search index of this version');
    const reader = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
    // Hits lie all over the file: reading their pages in place saves half of what finding them costs.
    reader.exec('PRAGMA cache_size = -4096; PRAGMA mmap_size = 134217728');
    return {
      writer,
      reader,
      close() {
        reader.close();
        writer.close();
      },
    };
  } catch (error) {
    writer.close();
    throw error;
  }
}

/** Empties the tables of the contents; inside a transaction of the caller. */
export function emptyTables(writer: DatabaseSync): void {
  writer.exec(`${DROP} ${TABLES}`);
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma] ?? 0);
}

const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

/** Whether an error says that the file is not what it should be. */
export function isDamage(error: unknown): boolean {
  // Of a state that is no JSON.
  if (error instanceof ForeignFile || error instanceof SyntaxError) return true;
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false;
  const primary = error.errcode & 0xff;
  return primary === SQLITE_CORRUPT || primary === SQLITE_NOTADB;
}
