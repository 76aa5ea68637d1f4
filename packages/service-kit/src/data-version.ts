import { randomUUID } from 'node:crypto';
import { AppError } from '@wharf/errors';
import type { StoreConnection } from './store.ts';

/** The version of data that does not name one. */
export const UNVERSIONED = 1;

/**
 * Brings data from the version before `to` to this one. Several processes may run it, at once and again after a crash: it changes only what still
 * has the old form, and leaves alone what is of the new one.
 */
export interface Migration {
  readonly to: number;
  run(store: StoreConnection): Promise<void>;
}

/** One for each version after the first, in their order; `docs/upgrading.md` says what each version changes. */
const MIGRATIONS: readonly Migration[] = [];

/** The form of everything that is kept, in the store and beside it. A program reads older data and refuses newer. */
export const DATA_VERSION = UNVERSIONED + MIGRATIONS.length;

/** What the data folder knows of the store that lies in it. */
export interface StoreNote {
  /** Of the data folder. */
  readonly path: string;
  /** Of the store with which a start has ended here; undefined: none has, or it was one that made no note. */
  readonly id: string | undefined;
  readonly version: number;
  /** No start has ended here: an empty store is what it should be. */
  readonly isFirstStart: boolean;
  /** No start has ended here since the folder was unpacked from a backup: what its tasks are about may have changed since. */
  readonly isBackup: boolean;
}

interface InstallationRecord {
  _id: 'installation';
  store_id: string;
  version: number;
}

const DUPLICATE_KEY = 11_000;

/**
 * To be called before anything else is done with a store. Gives it an id where it has none, and brings its data to this version.
 *
 * @param note of the data folder, where the store lies in one
 * @returns the id of the store
 * @throws AppError FAILED_PRECONDITION saying what to do: newer data, or a store that does not belong to the data folder
 */
export async function prepareStore(store: StoreConnection, note?: StoreNote, migrations = MIGRATIONS): Promise<string> {
  const installation = store.collection<InstallationRecord>('installation');
  const read = () => installation.findOne({ _id: 'installation' });
  const latest = UNVERSIONED + migrations.length;
  let found = await read();
  const isEmpty = found === null && (await store.collection('users').findOne({})) === null;
  if (note !== undefined) requireOwn(note, found?.store_id, isEmpty);
  if (found === null) {
    const fresh: InstallationRecord = { _id: 'installation', store_id: randomUUID(), version: isEmpty ? latest : UNVERSIONED };
    await installation.insertOne(fresh).catch((error) => {
      if (error.code !== DUPLICATE_KEY) throw error;
    });
    found = (await read()) ?? fresh;
  }
  if (found.version > latest) throw newerData('the store says', found.version, latest);
  // Files may have come since: what there is of each user is counted anew.
  if (note?.isBackup) await store.collection('quota_ledgers').deleteMany({});
  for (const { to, run } of migrations) {
    if (to <= found.version) continue;
    await run(store);
    await installation.updateOne({ _id: 'installation', version: to - 1 }, { $set: { version: to } });
  }
  return found.store_id;
}

/** Without this check a lost or exchanged store would look like a new one, in which everything is open. */
function requireOwn({ path, id, isFirstStart }: StoreNote, found: string | undefined, isEmpty: boolean): void {
  if (id === undefined ? isFirstStart || !isEmpty : found === id) return;
  const what = isEmpty ? 'is empty: what was in it is lost or damaged' : 'is not the one that belongs to this data folder';
  throw new AppError(
    'FAILED_PRECONDITION',
    `the store in ${path}/store ${what}. ` +
      `Replace the folder ${path}/store, with all its files, by the one of a backup of this data folder, and start again. ` +
      `To begin anew without what was stored, move store, store.json and secret out of ${path}.`,
  );
}

/** @param source who says so, with the verb */
export function newerData(source: string, version: number, known = DATA_VERSION): AppError {
  return new AppError(
    'FAILED_PRECONDITION',
    `${source} that the data is of version ${version}, written by a newer Wharf; this one knows versions up to ${known}. ` +
      `Start the newer one, or restore a backup of the whole data that this one wrote ` +
      `(the embedded store copied itself to store/store.before-data-<version>.sqlite before its data was changed).`,
  );
}
