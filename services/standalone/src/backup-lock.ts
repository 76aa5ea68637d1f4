import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AppError, systemCodeOf } from '@wharf/errors';

/** It stays: who removed it would let two hold files of one name. */
const LOCK = 'backup.lock';
const SQLITE_BUSY = 5;

/**
 * Keeps others from making a backup of a data folder, in whatever process, until it is disposed of. The lock is one of SQLite, as of the store: the
 * system takes it back from a process that is killed.
 *
 * @throws AppError FAILED_PRECONDITION when a backup is being made
 */
export async function lockBackups(dataDir: string): Promise<Disposable> {
  const place = join(dataDir, LOCK);
  // Made first, because SQLite would make it readable for everybody.
  await open(place, 'wx', 0o600).then(
    (made) => made.close(),
    (error: unknown) => (systemCodeOf(error) === 'EEXIST' ? undefined : Promise.reject(error)),
  );
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(place, { timeout: 0 });
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    const isHeld = error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY;
    const reason = isHeld
      ? `a backup of ${dataDir} is being made already; make another one when it has ended`
      : `${place} cannot be locked; whoever makes a backup must be its owner, or it is to be removed while none is being made`;
    throw new AppError('FAILED_PRECONDITION', reason, { cause: error });
  }
  return { [Symbol.dispose]: () => database?.close() };
}
