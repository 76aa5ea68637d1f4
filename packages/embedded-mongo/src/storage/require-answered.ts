import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { AppError } from '@wharf/errors';

/** The file of a store, in its directory. */
export const FILE_NAME = 'store.sqlite';
/**
 * This file exists while the last changes may be in the WAL alone. It says which was the last batch that was answered, and of which generation: the
 * main file and the WAL say the same, or a later one, unless something of them is lost.
 */
export const OPEN_MARK = 'store.open';

/** One, and how many batches have changed the file. It is no layout of its own: an older version leaves it as it is, and writes no number into the mark. */
const BATCHES = 'CREATE TABLE IF NOT EXISTS batches (count INTEGER NOT NULL) STRICT';
/**
 * Which main file and which WAL belong together: the WAL changes the id once, and keeps the one that the main file had when it began. Copies have none. An
 * older version leaves it as it is.
 */
const GENERATIONS = 'CREATE TABLE IF NOT EXISTS generations (id TEXT NOT NULL, before TEXT NOT NULL) STRICT';

export interface Answered {
  readonly batches: number;
  /** Empty: an older version has not said. */
  readonly generation: string;
}

interface Generation {
  readonly id: string;
  readonly before: string;
}

/**
 * Makes a file count its batches and name its generations, where it does not.
 *
 * @returns `isMoved`: the main file has both by now, so that the next batch begins a WAL of its own
 */
export function prepareAnswered(database: DatabaseSync): { answered: Answered; isMoved: boolean } {
  database.exec(`${BATCHES}; INSERT INTO batches SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM batches)`);
  database.exec(GENERATIONS);
  database.prepare("INSERT INTO generations SELECT ?, '' WHERE NOT EXISTS (SELECT 1 FROM generations)").run(newGeneration());
  return { answered: { batches: readBatches(database), generation: readGeneration(database).id }, isMoved: moveWal(database) };
}

/** Where there is no room for that the store goes on as it is. */
function moveWal(database: DatabaseSync): boolean {
  try {
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    return true;
  } catch {
    return false;
  }
}

/** As long as any other: the mark is written over. */
export const newGeneration = (): string => randomBytes(8).toString('hex');

/** What a copy of a store is not: its generation. */
export function forgetGeneration(path: string): void {
  const copy = new DatabaseSync(path);
  try {
    copy.exec('DROP TABLE IF EXISTS generations');
  } finally {
    copy.close();
  }
}

/** An older version writes its number alone over that of before, which may have less digits. */
export const markText = ({ batches, generation }: Answered): string =>
  `${`${batches}`.padEnd(String(Number.MAX_SAFE_INTEGER).length)} ${generation}`;

/** @returns what was answered; 0: an older version has not said; undefined: the store was closed in order */
export function readMark(directory: string): Answered | undefined {
  try {
    const [batches = '', generation = ''] = readFileSync(join(directory, OPEN_MARK), 'latin1').split(/ +/);
    return { batches: Number.parseInt(batches, 10) || 0, generation };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new AppError('FAILED_PRECONDITION', `the store cannot be opened: ${OPEN_MARK} cannot be read in ${directory}`, { cause: error });
  }
}

/**
 * What SQLite would not miss: it takes an empty main file for a new store, and removes the WAL; what it can read of a WAL for all of it; and each WAL for that
 * of the main file beside it, also where that is a backup, or a copy of another moment, whose pages it would mix with those of the WAL.
 *
 * @throws AppError CONTENT_CORRUPT: the files are as they were
 */
export function requireAnswered(directory: string): void {
  const answered = readMark(directory);
  if (answered === undefined) return;
  const path = join(directory, FILE_NAME);
  const main = statSync(path, { throwIfNoEntry: false });
  if (!main?.size) throw lostChanges(directory, main ? 'is empty' : 'is missing');
  const hasWal = existsSync(`${path}-wal`);
  if (answered.batches === 0 && !hasWal) throw lostChanges(directory, 'has no WAL beside it');
  // Windows has no such look at a WAL.
  if (answered.batches === 0 || (hasWal && process.platform === 'win32')) return;
  const { batches, generation } = hasWal ? lookWithWal(path) : lookWithoutWal(path);
  if (batches < answered.batches) throw lostChanges(directory, `has ${batches} of ${answered.batches} batches of changes`);
  if (answered.generation === '' || !hasWal) return;
  const ids = [generation.id, generation.before];
  if (![answered.generation, idInMainFile(path) ?? generation.id].every((id) => ids.includes(id))) throw otherWal(path);
}

/**
 * The id of the main file alone; empty where that has none, as it is until the first WAL has been moved into it. Undefined: it cannot be read without the WAL, of
 * which it may have a part, where a process ended while that was moved.
 */
function idInMainFile(path: string): string | undefined {
  try {
    return lookWithoutWal(path).generation.id;
  } catch {
    return undefined;
  }
}

interface Look {
  readonly batches: number;
  readonly generation: Generation;
}

const look = (database: DatabaseSync): Look => ({ batches: readBatches(database), generation: readGeneration(database) });

/** `immutable`, because SQLite would make a WAL, or read the one that is there. */
function lookWithoutWal(path: string): Look {
  const database = openLook(path, 'immutable=1', true);
  try {
    return look(database);
  } finally {
    database.close();
  }
}

/**
 * What the main file and the WAL have together. The connection that is closed last would move the WAL into the main file: that is one that cannot write. It
 * cannot read a WAL by itself, without a shared-memory file: `unix-excl` has that in memory, where one that can write has locked the main file.
 */
function lookWithWal(path: string): Look {
  const last = openLook(path, 'vfs=unix-excl', true);
  try {
    const database = openLook(path, 'vfs=unix-excl', false);
    try {
      try {
        database.prepare('PRAGMA user_version').get();
      } finally {
        // It locks, too, also where the first page is damaged.
        last.prepare('PRAGMA user_version').get();
      }
      return look(database);
    } finally {
      database.close();
    }
  } finally {
    last.close();
  }
}

function openLook(path: string, parameters: string, readOnly: boolean): DatabaseSync {
  const url = pathToFileURL(path);
  url.search = parameters;
  return new DatabaseSync(url, { readOnly, timeout: 0 });
}

const hasTable = (database: DatabaseSync, name: string): boolean =>
  database.prepare('SELECT 1 FROM sqlite_master WHERE name = ?').get(name) !== undefined;

function readBatches(database: DatabaseSync): number {
  return hasTable(database, 'batches') ? Number(database.prepare('SELECT count FROM batches').get()?.['count'] ?? 0) : 0;
}

function readGeneration(database: DatabaseSync): Generation {
  const row = hasTable(database, 'generations') ? database.prepare('SELECT id, before FROM generations').get() : undefined;
  return { id: String(row?.['id'] ?? ''), before: String(row?.['before'] ?? '') };
}

function lostChanges(directory: string, what: string): AppError {
  const path = join(directory, FILE_NAME);
  return new AppError(
    'CONTENT_CORRUPT',
    `${path} ${what}: the last changes of the store, which was not closed in order, are not there, because it or ${FILE_NAME}-wal is missing, ` +
      `damaged or another one; restore the whole folder from a backup, or remove ${join(directory, OPEN_MARK)} to go on with what is left`,
  );
}

function otherWal(path: string): AppError {
  return new AppError(
    'CONTENT_CORRUPT',
    `${path} is not the one that ${FILE_NAME}-wal beside it was written for, and would be mixed with it: restore the whole folder from a backup, into an empty ` +
      `one; or where ${FILE_NAME} is such a backup, or a copy of the store, remove ${FILE_NAME}-wal and ${OPEN_MARK}`,
  );
}
