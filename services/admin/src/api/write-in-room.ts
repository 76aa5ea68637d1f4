import type { Call, createBehindOthers, OneByOne } from '@wharf/service-kit';
import { createStoragesRoom, type StorageFields } from '../domain/storage.ts';
import type { StorageStore } from '../store/storage-store.ts';

/** Writes a storage where all together have room for it. @throws AppError QUOTA_EXCEEDED */
export type InRoom = <Written>(
  call: Call,
  storage: { readonly fields: StorageFields; readonly written: number | undefined },
  write: () => Promise<Written>,
) => Promise<Written>;

/** @param turn of those that hold all storages for a moment */
export const createInRoom =
  (storages: StorageStore, behindOthers: ReturnType<typeof createBehindOthers>, turn: OneByOne): InRoom =>
  (call, { fields, written }, write) => {
    const inTurn = async () => {
      createStoragesRoom(await storages.list())(fields, written);
      return write();
    };
    return behindOthers.call(turn, inTurn)(undefined, call);
  };
