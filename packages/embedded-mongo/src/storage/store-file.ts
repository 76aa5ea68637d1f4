import { closeSync, constants, existsSync, fsyncSync, openSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { AppError } from '@wharf/errors';
import {
  type Answered,
  FILE_NAME,
  forgetGeneration,
  markText,
  newGeneration,
  OPEN_MARK,
  prepareAnswered,
  readMark,
  requireAnswered,
} from './require-answered.ts';

/** Marks the file as ours (SQLite's `application_id`): "WHMS". */
const APPLICATION_ID = 0x57484d53;
const MARK_FLAGS = constants.O_RDWR | constants.O_CREAT;
/** Where a WAL says how often it has been begun anew. */
const WAL_SEQUENCE = { start: 12, bytes: 4 };

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
  /** How many batches have changed the file, and of which generation the last of them is. */
  #answered: Answered = { batches: 0, generation: '' };
  /** Note both; undefined until the file is open. */
  #setAnswered: { readonly batches: StatementSync; readonly generation: StatementSync } | undefined;
  /** The handle of the mark, while it is kept. */
  #mark: number | undefined;
  #wal: { readonly fd: number; sequence: number | undefined } | undefined;
  /** The WAL has been begun anew, and still has the generation of the main file. */
  #isNewWal = false;
  /** The mark has what was answered. */
  #isNoted = true;

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
    const database = this.#database;
    const { answered, isMoved } = prepareAnswered(database);
    this.#answered = answered;
    this.#isNewWal = isMoved;
    // What it says by now is no new one.
    if (!isMoved) this.#isBegunAnew();
    this.#setAnswered = {
      batches: database.prepare('UPDATE batches SET count = ?'),
      generation: database.prepare('UPDATE generations SET before = id, id = ?'),
    };
    this.#mark = openSync(join(this.#directory, OPEN_MARK), MARK_FLAGS, 0o600);
    // A failure ends the start: a mark without a number says that the WAL was not moved into the main file.
    writeSync(this.#mark, markText(this.#answered), 0);
    fsyncSync(this.#mark);
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
    try {
      // Made first, because SQLite would make it readable for everybody.
      createPrivateFile(made);
      this.#database.prepare('VACUUM INTO ?').run(made);
      forgetGeneration(made);
      syncPlace(made);
      renameSync(made, place);
    } catch (error) {
      // It may have taken the last room of the disk, which the store needs.
      rmSync(made, { force: true });
      throw error;
    }
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
    const answered = changes === this.#durableChanges ? this.#answered : this.#next();
    try {
      if (answered !== this.#answered) this.#setAnswered?.batches.run(answered.batches);
      if (answered.generation !== this.#answered.generation) this.#setAnswered?.generation.run(answered.generation);
      this.#database.exec('COMMIT');
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
    this.#durableChanges = changes;
    if (this.#mark === undefined) return;
    this.#noteAnswered(this.#mark, answered);
  }

  #next(): Answered {
    const { batches, generation } = this.#answered;
    const isDue = this.#isNewWal && this.#isNoted && this.#setAnswered !== undefined;
    return { batches: batches + 1, generation: isDue ? newGeneration() : generation };
  }

  /**
   * To be called with what is durable. Synced with each other generation alone: behind a loss of power the mark may say less than there is, and never more, and
   * it is one generation behind at most.
   */
  #noteAnswered(mark: number, answered: Answered): void {
    const isOther = answered.generation !== this.#answered.generation;
    const isToSync = isOther || !this.#isNoted;
    this.#answered = answered;
    this.#isNoted = false;
    if (isOther) this.#isNewWal = false;
    try {
      // Also where the mark cannot be written: its WAL changes the generation once.
      if (this.#isBegunAnew() && !isOther) this.#isNewWal = true;
      writeSync(mark, markText(answered), 0);
      if (isToSync) fsyncSync(mark);
      this.#isNoted = true;
    } catch {
      // As before a loss of power: the mark has what was answered before.
    }
  }

  /** SQLite begins the WAL anew by itself, with the first batch after all of it has been moved into the main file. */
  #isBegunAnew(): boolean {
    this.#wal ??= { fd: openSync(join(this.#directory, `${FILE_NAME}-wal`), 'r'), sequence: undefined };
    const { fd, sequence } = this.#wal;
    const bytes = Buffer.alloc(WAL_SEQUENCE.bytes);
    readSync(fd, bytes, 0, WAL_SEQUENCE.bytes, WAL_SEQUENCE.start);
    this.#wal.sequence = bytes.readUInt32BE();
    // What was not read before may be as old as the WAL: its generation changes once.
    return sequence !== undefined && this.#wal.sequence !== sequence;
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
    if (this.#wal !== undefined) closeSync(this.#wal.fd);
    this.#wal = undefined;
    this.#database.close();
    if (existsSync(join(this.#directory, `${FILE_NAME}-wal`)) || readMark(this.#directory)?.batches !== 0) return;
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
