import { AppError } from '@wharf/errors';
import type { UpdateStorageRequest, UpdateStorageResponse } from '@wharf/proto/admin';
import { parseStorageFields } from '../domain/storage.ts';
import type { StorageStarter } from '../domain/storage-starter.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { StorageStore } from '../store/storage-store.ts';
import { required } from './required.ts';

export const updateStorage =
  (storages: StorageStore, starter: StorageStarter, announceChange: AnnounceChange, clock: () => number) =>
  async (request: UpdateStorageRequest): Promise<UpdateStorageResponse> => {
    const given = required(request.storage, 'storage');
    const fields = parseStorageFields(given);
    const { driver } = await storages.get(given.id);
    if (driver !== fields.driver) throw new AppError('FAILED_PRECONDITION', 'driver cannot be changed');

    const storage = await storages.replace(given.id, fields, new Date(clock()));
    const revision = await announceChange(storage.id);
    const problem = await starter.start(storage, revision);
    if (problem === undefined) return { revision };
    throw new AppError('STORAGE_UNAVAILABLE', `failed init storage: ${problem}`, { details: { id: storage.id } });
  };
