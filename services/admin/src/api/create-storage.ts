import { AppError } from '@wharf/errors';
import type { CreateStorageRequest, CreateStorageResponse } from '@wharf/proto/admin';
import type { Call, LoginOfNow } from '@wharf/service-kit';
import type { FsClient } from '../clients/fs.ts';
import { parseStorageFields } from '../domain/storage.ts';
import type { StorageStarter } from '../domain/storage-starter.ts';
import type { AnnounceChange } from '../events/announce-change.ts';
import type { Counters } from '../store/counters.ts';
import { insertWithId } from '../store/insert-with-id.ts';
import type { StorageStore } from '../store/storage-store.ts';
import { required } from './required.ts';
import type { InRoom } from './write-in-room.ts';

export const createStorage =
  (parts: {
    storages: StorageStore;
    counters: Counters;
    fs: FsClient;
    starter: StorageStarter;
    announceChange: AnnounceChange;
    clock: () => number;
    loginOfNow: (call: Call) => Promise<LoginOfNow>;
    inRoom: InRoom;
  }) =>
  async (request: CreateStorageRequest, call: Call): Promise<CreateStorageResponse> => {
    const { storages, counters, fs, starter, announceChange, clock } = parts;
    const login = await parts.loginOfNow(call);
    const given = required(request.storage, 'storage');
    const fields = parseStorageFields(given);
    // While fs is away the drivers are not known. A wrong name then shows in the status.
    const drivers = await fs.drivers();
    if (drivers && !drivers.has(fields.driver))
      throw new AppError('RECORD_NOT_FOUND', `failed get driver new: no driver named: ${fields.driver}`, { details: { id: 0 } });
    // It may have been waited for.
    await login();

    const insert = (free: number) => storages.insert(free, fields, new Date(clock()));
    const id = await parts.inRoom(call, { fields, written: undefined }, () => insertWithId(counters, 'storages', given.id, insert));
    const revision = await announceChange(id);
    if (fields.disabled) return { id, revision };
    const problem = await starter.start(await storages.get(id), revision);
    if (problem === undefined) return { id, revision };
    const message = `failed init storage but storage is already created: failed init storage: ${problem}`;
    throw new AppError('STORAGE_UNAVAILABLE', message, { details: { id } });
  };
