import { closeSync, constants, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { AppError } from '@wharf/errors';

/** Marks the file as ours (SQLite's `application_id`): "WHMS". */
const APPLICATION_ID = 0x57484d53;
const FILE_NAME = 'store.sqlite';
/**
 * This file exists while the last changes may be in the WAL alone. It says which was the last batch that was answered: the main file and the WAL
 * say the same, or a later one, unless something of them is lost.
 */
const OPEN_MARK = 'store.open';
const MARK_FLAGS = constants.O_RDWR | constants.O_CREAT;

const SQLITE_BUSY = 5;
const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;

const SCHEMA = `
  CREATE TABLE collections (id INTEGER PRIMARY KEY, database TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (database, name)) STRICT;
  CREATE TABLE indexes (
    id INTEGER PRIMARY KEY, collection INTEGER NOT NULL REFERENCES collections (id), name TEXT NOT NULL,
    definition BLOB NOT NULL, multikey INTEGER NOT NULL, UNIQUE (collection, name)
  ) STRICT;
`;

/** One, and how many batches have changed the file. It is no layout of its own: an older version leaves it as it is, and writes no number into the mark. */
const BATCHES = 'CREATE TABLE IF NOT EXISTS batches (count INTEGER NOT NULL) STRICT';

/** Turns the layout before into the next one, in a transaction. */
export type Migration = (file: StoreFile) => void;

/**
 * The SQLite file of one data directory, locked for this process, with one transaction per batch of commands.
 *
 * The lock is SQLite's own (an exclusive file lock of the operating system), so it ends with the process that holds it, however that ends.
 */
export class StoreFile {
  readonly #database: DatabaseSync;
  readonly #directory: string;
  #inTransaction = false;
  /** Why SQLite has undone the transaction by itself, while that has not been told by {@link commit}. */
  #undoneBy: unknown;
  #changes = 0;
  /** Of {@link #changes}, those that were durable at the last commit. */
  #durableChanges = 0;
  /** How many batches have changed the file. */
  #batches = 0;
  /** Notes how many they are; undefined until the file is open. */
  #setBatches: StatementSync | undefined;
  /** The handle of the mark, while it is kept. */
  #mark: number | undefined;

  private constructor(database: DatabaseSync, directory: string) {
    this.#database = database;
    this.#directory = directory;
  }

  /**
   * Opens or creates `store.sqlite` (0600) in the directory. A file of an older layout is copied and brought to this one.
   *
   * @param migrations for each layout after the first; SQLite's `user_version` says which a file has (README).
   * @throws AppError FAILED_PRECONDITION when another process has it open, it is not ours, or of a newer layout; CONTENT_CORRUPT when it is
   * damaged or something is missing of what was answered.
   */
  static open(directory: string, migrations: readonly Migration[]): StoreFile {
    const path = join(directory, FILE_NAME);
    let database: DatabaseSync | undefined;
    let file: StoreFile | undefined;
    try {
      requireAnswered(directory);
      createPrivateFile(path);
      database = new DatabaseSync(path, { timeout: 0 });
      // EXCLUSIVE before the first read: the lock is then taken at once and kept, and the WAL needs no shared-memory file.
      database.exec('PRAGMA locking_mode = EXCLUSIVE');
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY;');
      database.exec('BEGIN IMMEDIATE');
      file = new StoreFile(database, directory);
      const layout = readLayout(database, path, migrations.length + 1);
      database.exec('COMMIT');
      file.#migrate(layout, migrations);
      file.#countBatches();
      return file;
    } catch (error) {
      if (file) file.#release();
      else database?.close();
      throw openingError(error, directory, path);
    }
  }

  #countBatches(): void {
    this.#database.exec(`${BATCHES}; INSERT INTO batches SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM batches)`);
    this.#batches = readBatches(this.#database);
    this.#setBatches = this.#database.prepare('UPDATE batches SET count = ?');
    this.#mark = openSync(join(this.#directory, OPEN_MARK), MARK_FLAGS, 0o600);
    // A failure ends the start: a mark without a number says that the WAL was not moved into the main file.
    writeSync(this.#mark, String(this.#batches), 0);
  }

  #migrate(layout: number, migrations: readonly Migration[]): void {
    const latest = migrations.length + 1;
    if (layout === latest) return;
    // All is changed in one transaction, so what has that name is a copy of a time before: of a file that went back to the older layout.
    if (layout > 0) this.#replaceCopy(`before-layout-${latest}`);
    this.write(
      () => {
        if (layout === 0) this.exec(SCHEMA);
        for (const migration of migrations.slice(Math.max(layout - 1, 0))) migration(this);
        this.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${latest}`);
      },
      () => {},
    );
    this.commit();
  }

  /** Copies all that is committed to `store.<name>.sqlite` beside the file, whole and durable, unless that is there. */
  copyAs(name: string): void {
    if (!existsSync(this.#placeOfCopy(name))) this.#replaceCopy(name);
  }

  #placeOfCopy(name: string): string {
    return join(this.#directory, `store.${name}.sqlite`);
  }

  #replaceCopy(name: string): void {
    const place = this.#placeOfCopy(name);
    const made = `${place}.new`;
    rmSync(made, { force: true });
    // Made first, because SQLite would make it readable for everybody.
    createPrivateFile(made);
    this.#database.prepare('VACUUM INTO ?').run(made);
    syncPlace(made);
    renameSync(made, place);
    syncPlace(this.#directory);
  }

  prepare(sql: string): StatementSync {
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  }

  /** Runs a statement that changes the file; only inside {@link write}. */
  exec(sql: string): void {
    this.#changes++;
    this.#database.exec(sql);
  }

  /** To be called with every change made through a prepared statement. */
  changed(): void {
    this.#changes++;
  }

  /**
   * Runs a change inside the batch's transaction. When it throws, what it changed is undone and what others changed stays.
   *
   * @param onUndone called after changes were undone, so that what is kept in memory can be read again.
   */
  write<T>(change: () => T, onUndone: () => void): T {
    if (!this.#inTransaction) {
      this.#database.exec('BEGIN IMMEDIATE');
      this.#inTransaction = true;
    }
    // Where the disk is full or fails, SQLite undoes the transaction by itself. What would be done without one would be durable at once, and told as failed.
    if (!this.#database.isTransaction) throw this.#undoneBy ?? new Error('SQLite has undone the changes of this batch');
    const before = this.#changes;
    this.#database.exec('SAVEPOINT command');
    try {
      const result = change();
      this.#database.exec('RELEASE command');
      return result;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK TO command; RELEASE command');
      else this.#undoneBy ??= error;
      if (this.#changes !== before) onUndone();
      throw error;
    }
  }

  /** Makes the batch's changes durable. @throws when that fails: then they are undone, and memory must be read again. */
  commit(): void {
    if (!this.#inTransaction) return;
    this.#inTransaction = false;
    const undoneBy = this.#undoneBy;
    this.#undoneBy = undefined;
    if (!this.#database.isTransaction && undoneBy !== undefined) throw undoneBy;
    const changes = this.#changes;
    const batches = this.#batches + (changes === this.#durableChanges ? 0 : 1);
    try {
      if (batches > this.#batches) this.#setBatches?.run(batches);
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
    this.#durableChanges = changes;
    if (this.#mark === undefined) return;
    this.#batches = batches;
    this.#noteAnswered(this.#mark);
  }

  /** To be called with what is durable. Not synced: behind a loss of power the mark may say less than there is, and never more. */
  #noteAnswered(mark: number): void {
    try {
      writeSync(mark, String(this.#batches), 0);
    } catch {
      // As before a loss of power: the mark has the number of before.
    }
  }

  /** Moves the WAL into the main file and releases the lock. @throws when that fails: the file is closed all the same, and can be opened again */
  close(): void {
    try {
      this.commit();
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      rmSync(join(this.#directory, OPEN_MARK), { force: true });
      syncPlace(this.#directory);
    } finally {
      this.#release();
    }
  }

  /** SQLite tries once more to move the WAL into the main file, and removes it then: a mark without a number would tell that it is lost. */
  #release(): void {
    if (this.#mark !== undefined) closeSync(this.#mark);
    this.#mark = undefined;
    this.#database.close();
    if (existsSync(join(this.#directory, `${FILE_NAME}-wal`)) || readMark(this.#directory) !== 0) return;
    rmSync(join(this.#directory, OPEN_MARK), { force: true });
  }

  /** The same after an error in the middle of a batch: what is not durable yet, and so not answered, is undone. */
  abandon(): void {
    if (!this.#database.isOpen) return;
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    this.#inTransaction = false;
    this.#undoneBy = undefined;
    this.close();
  }
}

/** Only creates: opening an existing file and closing it again would drop the lock of another store in this process (POSIX locks). */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw new AppError('FAILED_PRECONDITION', `the store cannot be created at ${path}`, { cause: error });
  }
}

/** @returns 0 for a new file. @throws AppError FAILED_PRECONDITION */
function readLayout(database: DatabaseSync, path: string, latest: number): number {
  const applicationId = pragma(database, 'application_id');
  const layout = Number(pragma(database, 'user_version'));
  if (applicationId === APPLICATION_ID) {
    if (layout <= latest) return layout;
    throw new AppError(
      'FAILED_PRECONDITION',
      `${path} is of layout ${layout}, written by a newer version of this program, which knows layouts up to ${latest}; ` +
        'start that version, or put the copy in its place that it made before (store.before-layout-<number>.sqlite)',
    );
  }
  const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_master').get();
  if (applicationId !== 0 || tables?.['tables'] !== 0) {
    throw new AppError('FAILED_PRECONDITION', `${path} is a database of another program; choose another data directory`);
  }
  return 0;
}

/** @returns the last batch that was answered; 0: an older version has not said; undefined: the store was closed in order */
function readMark(directory: string): number | undefined {
  try {
    return Number.parseInt(readFileSync(join(directory, OPEN_MARK), 'latin1'), 10) || 0;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new AppError('FAILED_PRECONDITION', `the store cannot be opened: ${OPEN_MARK} cannot be read in ${directory}`, { cause: error });
  }
}

/**
 * What SQLite would not miss: it takes an empty main file for a new store, and removes the WAL; and what it can read of a WAL for all of it.
 *
 * @throws AppError CONTENT_CORRUPT: the files are as they were
 */
function requireAnswered(directory: string): void {
  const answered = readMark(directory);
  if (answered === undefined) return;
  const path = join(directory, FILE_NAME);
  const main = statSync(path, { throwIfNoEntry: false });
  if (!main?.size) throw lostChanges(directory, main ? 'is empty' : 'is missing');
  const hasWal = existsSync(`${path}-wal`);
  if (answered === 0 && !hasWal) throw lostChanges(directory, 'has no WAL beside it');
  // Windows has no such look at a WAL.
  if (answered === 0 || (hasWal && process.platform === 'win32')) return;
  const batches = hasWal ? lookWithWal(path) : lookWithoutWal(path);
  if (batches < answered) throw lostChanges(directory, `has ${batches} of ${answered} batches of changes`);
}

/** `immutable`, because SQLite would make a WAL. @returns how many batches the main file has */
function lookWithoutWal(path: string): number {
  const database = openLook(path, 'immutable=1', true);
  try {
    return readBatches(database);
  } finally {
    database.close();
  }
}

/**
 * The connection that is closed last would move the WAL into the main file: that is one that cannot write. It cannot read a WAL by itself, without
 * a shared-memory file: `unix-excl` has that in memory, where one that can write has locked the main file.
 *
 * @returns how many batches the main file and the WAL have together
 */
function lookWithWal(path: string): number {
  const last = openLook(path, 'vfs=unix-excl', true);
  try {
    const database = openLook(path, 'vfs=unix-excl', false);
    try {
      try {
        pragma(database, 'user_version');
      } finally {
        // It locks, too, also where the first page is damaged.
        pragma(last, 'user_version');
      }
      return readBatches(database);
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

function readBatches(database: DatabaseSync): number {
  const isCounted = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'batches'").get() !== undefined;
  return isCounted ? Number(database.prepare('SELECT count FROM batches').get()?.['count'] ?? 0) : 0;
}

function lostChanges(directory: string, what: string): AppError {
  const path = join(directory, FILE_NAME);
  return new AppError(
    'CONTENT_CORRUPT',
    `${path} ${what}: the last changes of the store, which was not closed in order, are not there, because it or ${FILE_NAME}-wal is missing, ` +
      `damaged or another one; restore the whole folder from a backup, or remove ${join(directory, OPEN_MARK)} to go on with what is left`,
  );
}

function syncPlace(place: string): void {
  const fd = openSync(place, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function pragma(database: DatabaseSync, name: 'application_id' | 'user_version'): unknown {
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}

function openingError(error: unknown, directory: string, path: string): AppError {
  if (AppError.is(error)) return error;
  const code = typeof error === 'object' && error !== null && 'errcode' in error ? Number(error.errcode) & 0xff : undefined;
  if (code === SQLITE_BUSY) {
    return new AppError(
      'FAILED_PRECONDITION',
      `the data directory ${directory} is in use by another process; stop that process, or choose another data directory`,
      { cause: error },
    );
  }
  if (code === SQLITE_NOTADB || code === SQLITE_CORRUPT) {
    return new AppError('CONTENT_CORRUPT', `${path} is damaged or not a store; restore it from a backup, or move it away to start empty`, {
      cause: error,
    });
  }
  return new AppError('FAILED_PRECONDITION', `the store cannot be opened at ${path}`, { cause: error });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
