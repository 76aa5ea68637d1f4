import { AppError } from '@wharf/errors';
import type { UpdateStorageRequest, UpdateStorageResponse } from '@wharf/proto/admin';
import type { Call } from '@wharf/service-kit';
import { parseStorageFields } from '../domain/storage.ts';
import type { StorageStarter } from '../domain/storage-starter.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { StorageStore } from '../store/storage-store.ts';
import { required } from './required.ts';
import type { InRoom } from './write-in-room.ts';

export const updateStorage =
  (parts: { storages: StorageStore; starter: StorageStarter; announceChange: AnnounceChange; clock: () => number; inRoom: InRoom }) =>
  async (request: UpdateStorageRequest, call: Call): Promise<UpdateStorageResponse> => {
    const { storages, starter, announceChange, clock } = parts;
    const given = required(request.storage, 'storage');
    const before = await storages.get(given.id);
    const fields = parseStorageFields(given, before);
    if (before.driver !== fields.driver) throw new AppError('FAILED_PRECONDITION', 'driver cannot be changed');

    const replace = () => storages.replace(given.id, fields, new Date(clock()));
    const storage = await parts.inRoom(call, { fields, written: given.id }, replace);
    const revision = await announceChange(storage.id);
    const problem = await starter.start(storage, revision);
    if (problem === undefined) return { revision };
    throw new AppError('STORAGE_UNAVAILABLE', `failed init storage: ${problem}`, { details: { id: storage.id } });
  };
