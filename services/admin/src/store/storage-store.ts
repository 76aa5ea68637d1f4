import { AppError } from '@wharf/errors';
import { isDuplicateKey, type Models, readStorages, type StorageRecord, storageFromStore } from '@wharf/models';
import { seal } from '@wharf/service-kit';
import { STATUS, type Storage, type StorageFields } from '../domain/storage.ts';
import { mapInTurns } from './map-in-turns.ts';
import { openOrSealed } from './open-or-sealed.ts';

/** The storages; their additions are encrypted in the store and in clear here. */
export interface StorageStore {
  /** By order, then id. */
  list(): Promise<Storage[]>;
  /** @throws AppError RECORD_NOT_FOUND */
  get(id: number): Promise<Storage>;
  /** False: the id is taken. @throws AppError RECORD_EXISTS: the mount path is taken */
  insert(id: number, fields: StorageFields, modified: Date): Promise<boolean>;
  /**
   * Replaces all fields of a storage of the same driver.
   *
   * @param version only where it still has this one. @throws AppError RECORD_NOT_FOUND | RECORD_EXISTS | STALE_VERSION
   */
  replace(id: number, fields: StorageFields, modified: Date, version?: string): Promise<Storage>;
  /** Undefined: it was so already. @throws AppError RECORD_NOT_FOUND */
  setDisabled(id: number, disabled: boolean): Promise<Storage | undefined>;
  /** @throws AppError RECORD_NOT_FOUND */
  remove(id: number): Promise<void>;
  /**
   * Writes how a start ended, unless the storage was changed, disabled or deleted since it was read.
   * @param addition the text to keep instead of the present one; undefined keeps that.
   * @returns whether it was written
   */
  writeOutcome(storage: Storage, status: string, addition?: string): Promise<boolean>;
  /** Replaces the addition alone, unless it was changed, or the storage deleted, since it was read. @returns whether it was written */
  keepAddition(storage: Storage, addition: string): Promise<boolean>;
}

export function createStorageStore(models: Models, key: Buffer): StorageStore {
  const { storages } = models;
  const fromRecord = ({ _id, ...record }: StorageRecord): Storage => ({
    ...record,
    id: _id,
    addition: openOrSealed(key, record.addition),
    version: record.addition,
  });
  const toRecord = (fields: StorageFields, modified: Date) => ({
    ...fields,
    addition: seal(key, fields.addition),
    status: fields.disabled ? STATUS.disabled : STATUS.notStarted,
    modified,
  });
  const isMountPathTaken = async (mountPath: string) => (await storages.exists({ mount_path: mountPath })) !== null;

  return {
    list: async () => mapInTurns(await readStorages(models), fromRecord),
    async get(id) {
      const record = await storages.findById(id).lean<StorageRecord>();
      if (!record) throw unknown();
      return fromRecord(storageFromStore(record));
    },
    async insert(id, fields, modified) {
      try {
        await storages.create({ _id: id, ...toRecord(fields, modified) });
        return true;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        if (await isMountPathTaken(fields.mount_path)) throw taken('create', fields.mount_path);
        return false;
      }
    },
    async replace(id, fields, modified, version) {
      const sameVersion = version === undefined ? {} : { addition: version };
      const change = { $set: toRecord(fields, modified) };
      const replaced = await storages
        .findOneAndUpdate({ _id: id, driver: fields.driver, ...sameVersion }, change, { returnDocument: 'after' })
        .lean<StorageRecord>()
        .catch((error) => Promise.reject(isDuplicateKey(error) ? taken('update', fields.mount_path) : error));
      if (!replaced) throw version !== undefined && (await storages.exists({ _id: id })) ? changedMeanwhile() : unknown();
      return fromRecord(storageFromStore(replaced));
    },
    async setDisabled(id, disabled) {
      const change = { $set: { disabled, status: disabled ? STATUS.disabled : STATUS.notStarted } };
      const changed = await storages
        .findOneAndUpdate({ _id: id, disabled: !disabled }, change, { returnDocument: 'after' })
        .lean<StorageRecord>();
      if (changed) return fromRecord(storageFromStore(changed));
      if (!(await storages.exists({ _id: id }))) throw unknown();
      return undefined;
    },
    async remove(id) {
      const { deletedCount } = await storages.deleteOne({ _id: id });
      if (deletedCount === 0) throw unknown();
    },
    async writeOutcome(storage, status, addition) {
      const kept = addition === undefined ? {} : { addition: seal(key, addition) };
      const { matchedCount } = await storages.updateOne(
        { _id: storage.id, addition: storage.version, disabled: false },
        { $set: { status, ...kept } },
      );
      return matchedCount === 1;
    },
    async keepAddition(storage, addition) {
      const { matchedCount } = await storages.updateOne(
        { _id: storage.id, addition: storage.version },
        { $set: { addition: seal(key, addition) } },
      );
      return matchedCount === 1;
    },
  };
}

function unknown(): AppError {
  return new AppError('RECORD_NOT_FOUND', 'failed get storage: record not found');
}

/** Its driver may have kept a new token, or somebody may have entered another password. */
function changedMeanwhile(): AppError {
  return new AppError('STALE_VERSION', 'not written: the storage was changed meanwhile, try again');
}

function taken(action: 'create' | 'update', mountPath: string): AppError {
  return new AppError('RECORD_EXISTS', `failed ${action} storage in database: the mount path ${mountPath} is taken`, {
    details: { mount_path: mountPath },
  });
}
